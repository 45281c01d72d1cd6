"""Python clients against the server at argv[1]: a line of JSON for each call, with what it said or how it failed.

The modules of the clients follow in the arguments. Where CALL_MARKS is the address of a recorder, each call is announced there before it begins.
"""

import importlib
import json
import os
import sys
import traceback
import urllib.request

from common import checks

for name in sys.argv[2:]:
    importlib.import_module(name)

marks = os.environ.get("CALL_MARKS")
for function in checks:
    outcome = {"name": function.__name__}
    try:
        if marks is not None:
            urllib.request.urlopen(marks + function.__name__).close()
        outcome["said"] = function()
    except Exception:
        outcome["failure"] = traceback.format_exc(limit=-8)
    print(json.dumps(outcome), flush=True)
