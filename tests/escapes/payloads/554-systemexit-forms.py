# 554 systemexit-forms
# tries: the run is left by SystemExit, KeyboardInterrupt, GeneratorExit and a class that pretends
# escaped: a failed run that counts as a good one
# walls: language=must os=- host=must
# mode: code
def way(number):
    if number == 0:
        exit(0)
    if number == 1:
        import sys
        sys.exit('ESCAPED')
    if number == 2:
        raise GeneratorExit
    raise KeyboardInterrupt
try:
    way(0)
except BaseException as e:
    print(type(e).__name__)
try:
    way(2)
finally:
    result = 'ESCAPED'
    way(1)
