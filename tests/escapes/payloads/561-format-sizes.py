# 561 format-sizes
# tries: widths and precisions that take all memory, in every formatter
# escaped: memory past the cap
# walls: language=- os=must host=-
# mode: code
for way in (lambda: '%*d' % (10 ** 9, 1), lambda: f'{1:{10 ** 9}}', lambda: format(1.5, '.999999999f'), lambda: 'x'.rjust(10 ** 9),
            lambda: b'%10000000000d' % 1, lambda: '{:>10000000000}'.format(1), lambda: 'a'.expandtabs(10 ** 9) * 100):
    try:
        way()
    except Exception as e:
        print(type(e).__name__)
result = 'lived'
