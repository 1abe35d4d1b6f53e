# 528 decimal-context
# tries: contexts are shared, have traps and flags with hostile values, and precision without bound
# escaped: a crash, a foreign object, memory past the cap
# walls: language=- os=must host=-
# mode: code
import decimal
c = decimal.getcontext()
for name, value in (('prec', 10 ** 18), ('Emax', 10 ** 18), ('rounding', 'x'), ('traps', {}), ('flags', None), ('clamp', 7)):
    try:
        setattr(c, name, value)
    except Exception:
        pass
c.prec = decimal.MAX_PREC
result = str(decimal.Decimal(1) / 3)[:10]
