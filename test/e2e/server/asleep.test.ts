import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openChat } from '../../support/http/raw-client.ts'
import { useCommandLine } from '../../support/process/command-line.ts'

const cli = useCommandLine()

const config = `
limits: { stallMs: 3000, generationMs: 6000, queueMs: 3000 }
models:
  - { id: scripted, engine: fake, script: from-request, slots: 1 }
`

test('a process that was stopped for a while, as by a lid, stops no request for it', async () => {
  const file = join(cli.home, 'asleep.yaml')
  await writeFile(file, config)
  const server = await cli.serve(['--config', file])
  const content = JSON.stringify({ chunks: ['one ', 'two ', 'three ', 'four'], delayMs: 500 })
  const open = () => openChat(server.url, { model: 'scripted', stream: true, messages: [{ role: 'user', content }] })
  const first = open()
  await first.untilText('one')
  const second = open()
  await pause(300)
  server.child.kill('SIGSTOP')
  await pause(12_000)
  server.child.kill('SIGCONT')
  for (const stream of [first, second]) {
    await stream.ended
    expect(stream.text()).toContain('four')
    expect(stream.text()).toContain('"finish_reason":"stop"')
  }
})
