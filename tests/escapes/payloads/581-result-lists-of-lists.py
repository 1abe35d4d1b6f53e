# 581 result-lists-of-lists
# tries: half a million empty lists
# escaped: the host's memory grows a hundredfold
# walls: language=- os=- host=must
# mode: code
result = [[] for i in range(600000)]
