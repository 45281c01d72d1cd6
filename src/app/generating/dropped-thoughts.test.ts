import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createDragoman } from '../create-dragoman.ts'

test('a turn names the thoughts that its chat template drops, which a thread finds', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-drops-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const chatTemplate = join(folder, 'drops.jinja')
  const source =
    '{% set ns = namespace(last=0) %}{% for m in messages %}{% if m.role == "user" %}{% set ns.last = loop.index0 %}{% endif %}' +
    '{% endfor %}{% for m in messages %}{{ m.role }}: {% if m.reasoning_content and loop.index0 > ns.last %}<think>' +
    '{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function | tojson }}' +
    '{% endfor %}\n{% endfor %}'
  await writeFile(chatTemplate, source)
  const models = [{ id: 'echo', engine: 'fake', script: 'from-request', chatTemplate }] as const
  const dragoman = await createDragoman({ config: { storage: 'off', builtinModel: false, models } })
  onTestFinished(() => dragoman.close())
  const call = { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }
  const told = (question: string) => [
    { role: 'user', content: question },
    { role: 'assistant', content: null, reasoning_content: 'I look.', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'a', content: 'seen' },
  ]
  const more = [
    { role: 'assistant', content: 'Yes.' },
    { role: 'user', content: 'And?' },
  ]
  const ask = async (messages: readonly object[]) => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'echo', messages })
    const reply = await dragoman.fetch(new Request('http://localhost/v1/chat/completions', { method: 'POST', headers, body }))
    await reply.text()
    return reply.headers.get('x-dragoman-prefix')
  }
  // The thread may start for longer than a reply waits.
  let round = 0
  const said = async () => {
    round += 1
    const turns = told(`hi ${round}`)
    await ask(turns)
    return ask([...turns, ...more])
  }
  await expect
    .poll(said, { timeout: 10_000 })
    .toMatch(/^messages\[1\]\.reasoning_content;part=reasoning;change=dropped;missed=[1-9]\d*$/)
})
