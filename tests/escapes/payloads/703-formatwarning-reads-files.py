# 703 formatwarning-reads-files
# tries: warnings.formatwarning looks the line up in the file that it is told
# escaped: a line of any file
# walls: language=must os=must host=-
# mode: code
import warnings
text = warnings.formatwarning('m', UserWarning, '/etc/passwd', 1)
if 'root' in text:
    print('ESCAPED', text)
