import { openSync } from 'node:fs'
import { runProgram as convert } from '../../../src/media/convert/run-program.ts'
import { runPython } from '../../../src/registry/fetch/python.ts'
import { ChildTransport } from '../../../src/tools/mcp/child-transport.ts'
import { runProgram as runInSandbox } from '../../../src/tools/sandbox/run-program.ts'

/** Starts every kind of program while this process may open no more files, and prints how each attempt ends. */
const signal = new AbortController().signal
const program = { command: 'true', args: [], env: {} }
const starts: Readonly<Record<string, () => unknown>> = {
  converter: async () => convert({ ...program, input: Buffer.alloc(0), maxOutputBytes: 1, timeoutMs: 60_000 }, signal),
  mcp: () => new ChildTransport(program).start(),
  python: () => runPython(['-V'], { cwd: '/', signal }).next(),
  sandbox: () => runInSandbox({ ...program, descriptors: [] }, { everyMs: 60_000, tooMuch: () => undefined }, signal),
}

try {
  while (true) openSync('/dev/null', 'r')
} catch {
  // There are no more.
}
const ends: Record<string, unknown> = {}
for (const [name, start] of Object.entries(starts)) {
  ends[name] = await Promise.resolve()
    .then(start)
    .catch((error: Error) => error.message)
}
process.stdout.write(JSON.stringify(ends))
