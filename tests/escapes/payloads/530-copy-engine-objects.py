# 530 copy-engine-objects
# tries: copies of tools, pending calls, modules, streams and loops
# escaped: a copy that has no guard
# walls: language=must os=backstop host=-
# mode: code
import asyncio
import copy
import json
import sys
for thing in (tools, json, sys.stdout, asyncio.get_event_loop(), tools['echo'], print, ToolCallError):
    for way in (copy.copy, copy.deepcopy):
        try:
            got = way(thing)
        except Exception:
            continue
        if got is not thing and type(got) is not type(thing):
            print('ESCAPED', thing, got)
        for name in ('_table', '_call', '_tool', '_targets', '_loop', '_channel'):
            if hasattr(got, name):
                print('ESCAPED', name)
