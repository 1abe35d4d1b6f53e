# 580 result-many-keys
# tries: a result with as many keys as fit, all different
# escaped: the host stalls while it decodes
# walls: language=- os=- host=must
# mode: code
result = {f'{i:x}': None for i in range(400000)}
