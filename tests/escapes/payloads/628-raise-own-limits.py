# 628 raise-own-limits
# tries: limits raised by every name, and timers stopped
# escaped: a limit that is gone
# walls: language=- os=must host=-
# mode: raw
import resource
import signal
for number in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_DATA):
    try:
        resource.setrlimit(number, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print('ESCAPED', number)
    except (OSError, ValueError):
        pass
try:
    signal.setitimer(signal.ITIMER_PROF, 0)
    print('ESCAPED timer')
except OSError:
    pass
