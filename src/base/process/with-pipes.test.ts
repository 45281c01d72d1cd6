import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const script = fileURLToPath(new URL('../../../test/support/process/without-files.ts', import.meta.url))

test.skipIf(process.platform === 'win32')(
  'a process that may open no more files survives every program that it cannot start',
  async () => {
    const command = `ulimit -n 500; exec "${process.execPath}" --import tsx "${script}"`
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command])
    const refused = expect.stringMatching(/could not be started.*too many open files/)
    expect(JSON.parse(stdout)).toEqual({
      converter: refused,
      mcp: refused,
      python: refused,
      sandbox: { output: expect.stringContaining('EMFILE') },
    })
  },
)
