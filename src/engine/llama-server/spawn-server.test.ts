import { expect, test } from 'vitest'
import { spawnServer } from './spawn-server.ts'

test('a line without an end is truncated to its start', async () => {
  const script = "process.stderr.write('broken' + 'x'.repeat(4e6), () => process.exit(3))"
  const server = spawnServer({ binary: process.execPath, args: ['-e', script], apiKey: 'k', onLine: () => undefined })
  expect(await server.exited).toEqual({
    description: 'exited with code 3',
    fromOutside: false,
    lastLines: [`broken${'x'.repeat(494)}`],
  })
})
