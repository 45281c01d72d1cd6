import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { type Message, plainChat } from '../src/contract/request.ts'
import type { Bus } from '../src/contract/server/shared.ts'
import type { RenderPrompt } from '../src/core/prefix/dropped-thoughts.ts'
import { PrefixMemory } from '../src/core/prefix/prefix-memory.ts'
import { createFakeEngine } from '../src/engine/fake/engine.ts'
import { createMediaReader } from '../src/media/reader.ts'
import { type ChatTemplate, compileChatTemplate } from '../src/model-text/template/chat-template.ts'
import { type Asked, type Conversation, type Json, plain, protocols, redAgain, write } from './support/http/agent-turns.ts'
import { openTestServer } from './support/http/test-server.ts'
import { assistant, call, reasoning, text } from './support/parts.ts'
import { shareOver, startPrimary } from './support/process/primary.ts'

/** Templates that print thoughts: as long as the question is the last one, always, if they are asked to, and never. */
const templates = await writeTemplates({
  'of the last question': 'loop.index0 > ns.last',
  'of all answers': 'true',
  'if they are asked to': 'preserve_thinking or loop.index0 > ns.last',
  'of none': 'false',
})

async function writeTemplates<Name extends string>(conditions: Readonly<Record<Name, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-thoughts-'))
  afterAll(() => rm(folder, { recursive: true }))
  const write = async ([name, condition]: readonly [string, string]) => {
    const source =
      '{% set ns = namespace(last=-1) %}{% for m in messages %}{% if m.role == "user" %}{% set ns.last = loop.index0 %}{% endif %}' +
      `{% endfor %}{% for m in messages %}<|{{ m.role }}|>{% if m.reasoning_content and (${condition}) %}<think>` +
      '{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function | tojson }}' +
      '{% endfor %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}'
    const path = join(folder, `${name}.jinja`)
    await writeFile(path, source)
    return [name, { path, source }] as const
  }
  const all = await Promise.all((Object.entries(conditions) as [Name, string][]).map(write))
  return Object.fromEntries(all) as Record<Name, { readonly path: string; readonly source: string }>
}

const compiled = new Map<string, ChatTemplate>()
const render: RenderPrompt = async ({ prompt, ...options }, source) => {
  const template = compiled.get(source) ?? compileChatTemplate(source, {})
  compiled.set(source, template)
  return template.render(prompt, options).text
}

/** The places of a conversation in the words of each protocol. */
const places = {
  system: ['messages[0].content', 'instructions', 'system', 'messages[0].content'],
  question: ['messages[1].content[0]', 'input[0].content[0]', 'messages[0].content[0]', 'messages[1].content'],
  later: ['messages[1].content[1]', 'input[0].content[1]', 'messages[0].content[1]', 'messages[1].content'],
  image: ['messages[1].content[1]', 'input[0].content[1]', 'messages[0].content[1]', 'messages[1].images[0]'],
  asked: ['messages[1]', 'input[0]', 'messages[0]', 'messages[1]'],
  answer: ['messages[2]', 'input[1]', 'messages[1]', 'messages[2]'],
  thought: ['messages[2].reasoning_content', 'input[1]', 'messages[1].content[0]', 'messages[2].thinking'],
  call: ['messages[2].tool_calls[0]', 'input[2]', 'messages[1].content[1]', 'messages[2].tool_calls[0]'],
  result: ['messages[3].content', 'input[3].output', 'messages[2].content[0].content', 'messages[3].content'],
  firstTool: ['tools[0].function', 'tools[0]', 'tools[0]', 'tools[0].function'],
  secondTool: ['tools[1].function', 'tools[1]', 'tools[1]', 'tools[1].function'],
  effort: ['reasoning_effort', 'reasoning.effort', 'output_config.effort', 'think'],
} satisfies Record<string, readonly string[]>

const system = (from: string, to: string): Partial<Conversation> => ({ system: plain.system.replace(from, to) })
const [read, written] = plain.tools
if (read === undefined || written === undefined) throw new Error('two tools')

/** What clients change between turns without meaning to, as they are known to, and what is said of it. */
const breakers: readonly {
  readonly name: string
  readonly change: Partial<Conversation>
  readonly before?: Partial<Conversation>
  readonly place: keyof typeof places
  readonly says: string
}[] = [
  { name: 'the time in the system message', change: system('12:01', '12:02'), place: 'system', says: 'text date' },
  {
    name: 'the day in the system message',
    change: system('Sunday, 29 November', 'Monday, 30 November'),
    place: 'system',
    says: 'text date',
  },
  { name: 'the folder', change: system('/home/ada/engine', '/home/ada/notes'), place: 'system', says: 'text path' },
  {
    name: 'the state of a repository',
    before: system('Be brief.', 'Changed files:\nM src/a.ts'),
    change: system('Be brief.', 'Changed files:\nM src/b.ts'),
    place: 'system',
    says: 'text path',
  },
  {
    name: 'an id in the system message',
    before: system('Be brief.', 'Session 0b7f2c1e-9a41-4c55-8f0e-33c0b1d2aa10'),
    change: system('Be brief.', 'Session 5d1c77aa-10b2-4f6e-a9d3-7781c0e4bb21'),
    place: 'system',
    says: 'text id',
  },
  { name: 'the order of tools', change: { tools: [written, read] }, place: 'firstTool', says: 'tool order' },
  {
    name: 'the description of a tool',
    change: { tools: [read, { ...written, description: 'Writes one file.' }] },
    place: 'secondTool',
    says: 'tool text',
  },
  {
    name: 'the time in the description of a tool',
    before: { tools: [{ ...read, description: 'Reads a file. Now: 2026-11-29T12:01:07Z' }, written] },
    change: { tools: [{ ...read, description: 'Reads a file. Now: 2026-11-29T12:03:44Z' }, written] },
    place: 'firstTool',
    says: 'tool date',
  },
  { name: 'a tool that is gone', change: { tools: [written] }, place: 'firstTool', says: 'tool removed' },
  {
    name: 'a countdown of tokens',
    change: { result: plain.result.replace('180000', '171250') },
    place: 'result',
    says: 'tool-result number',
  },
  { name: 'thoughts that are dropped', change: { thought: undefined }, place: 'answer', says: 'reasoning removed' },
  { name: 'thoughts that are shortened', change: { thought: 'I read it.' }, place: 'thought', says: 'reasoning text' },
  { name: 'an image that is dropped', change: { image: undefined }, place: 'asked', says: 'image removed' },
  { name: 'an image that is encoded again', change: { image: redAgain }, place: 'image', says: 'image bytes' },
  {
    name: 'a reminder in an earlier message',
    change: { question: [...plain.question, '<system-reminder>The file was changed.</system-reminder>'] },
    place: 'later',
    says: 'text added',
  },
  { name: 'a switch of the template', change: { effort: 'high' }, place: 'effort', says: 'setting value' },
  { name: 'ids of calls', change: { callId: 'call_b2' }, place: 'call', says: 'tool-call id' },
  {
    name: 'ends of lines',
    change: { result: plain.result.replaceAll('\n', '\r\n') },
    place: 'result',
    says: 'tool-result spacing',
  },
  {
    name: 'the form of a character',
    before: { question: ['caf\u00e9'] },
    change: { question: ['cafe\u0301'] },
    place: 'question',
    says: 'text spacing',
  },
  { name: 'an old result that is cleared', change: { result: '[cleared]' }, place: 'result', says: 'tool-result text' },
]

/** A server, or one of its processes, and how to send it a turn of one session. */
function open(
  others: { readonly siblings?: Bus; readonly everyone?: Bus } = {},
  engine = createFakeEngine({ script: 'from-request' }),
) {
  const { app } = openTestServer({ engine, prefixes: new PrefixMemory({ ...others, render }), media: createMediaReader() })
  return async ({ path, body }: Asked, more: Json = {}, session = 's1') => {
    const payload = { model: 'default', ...body, ...more }
    const reply = await app.inject({ method: 'POST', url: path, payload, headers: { 'session-id': session } })
    if (reply.statusCode !== 200) throw new Error(reply.body)
    return { json: reply.json() as Json, prefix: reply.headers['x-dragoman-prefix'] }
  }
}

describe.each(protocols)('in %s', (protocol) => {
  const column = protocols.indexOf(protocol)

  test('a turn that goes on has no header', async () => {
    const send = open()
    await send(write[protocol](plain, false))
    expect((await send(write[protocol](plain, true))).prefix).toBeUndefined()
  })

  test.each(breakers)('$name: its place and kind', async ({ before, change, place, says }) => {
    const send = open()
    await send(write[protocol]({ ...plain, ...before }, false))
    const { prefix } = await send(write[protocol]({ ...plain, ...before, ...change }, true))
    const [part, kind] = says.split(' ')
    const [at, ...facts] = String(prefix).split(';')
    expect([at, ...facts.slice(0, 2)]).toEqual([places[place][column], `part=${part}`, `change=${kind}`])
    expect(facts[2]).toMatch(/^missed=[1-9]\d*$/)
  })
})

describe.each(protocols)('in %s, thoughts that the template prints no more after another question', (protocol) => {
  const column = protocols.indexOf(protocol)
  const openWith = (name: keyof typeof templates) =>
    open({}, createFakeEngine({ script: 'from-request', chatTemplate: templates[name].path }))

  test('are named', async () => {
    const send = openWith('of the last question')
    await send(write[protocol](plain, false))
    const { prefix } = await send(write[protocol](plain, true))
    expect(prefix).toMatch(/;part=reasoning;change=dropped;missed=[1-9]\d*$/)
    expect(String(prefix).split(';')[0]).toBe(places.thought[column])
    expect((await send(write[protocol](plain, true))).prefix).toBeUndefined()
  })

  test.each(['of all answers', 'of none'] as const)('are not looked for in vain, where it prints those %s', async (name) => {
    const send = openWith(name)
    await send(write[protocol](plain, false))
    expect((await send(write[protocol](plain, true))).prefix).toBeUndefined()
  })

  test('are there, where the request asks for them', async () => {
    const send = openWith('if they are asked to')
    const asks = { chat_template_kwargs: { preserve_thinking: true } }
    if (protocol !== 'chat') return
    await send(write[protocol](plain, false), asks)
    expect((await send(write[protocol](plain, true), asks)).prefix).toBeUndefined()
    await send(write[protocol](plain, false), {}, 's2')
    expect((await send(write[protocol](plain, true), {}, 's2')).prefix).toContain('change=dropped')
  })
})

/** Two processes of a server. */
function openTwo() {
  const join = startPrimary()
  const openOne = () => {
    const bus = shareOver(join().primary)
    return open({ siblings: bus, everyone: bus })
  }
  return [openOne(), openOne()] as const
}

describe('where another process of the server had the turn before', () => {
  test('each of them is found', async () => {
    const [here, there] = openTwo()
    for (const { name, before, change, says } of breakers) {
      await here(write.chat({ ...plain, ...before }, false), {}, name)
      const { prefix } = await there(write.chat({ ...plain, ...before, ...change }, true), {}, name)
      const [part, kind] = says.split(' ')
      expect(prefix, name).toContain(`;part=${part};change=${kind};missed=`)
    }
  })

  test('a turn that goes on there has no header, and its reply can be named', async () => {
    const [here, there] = openTwo()
    const first = await here(write.messages(plain, false))
    const previous = { diagnostics: { previous_message_id: first.json.id } }
    const second = await there(write.messages(plain, true), previous)
    expect([second.prefix, second.json.diagnostics]).toEqual([undefined, null])
    const changed = await there(write.messages({ ...plain, tools: [written, read] }, true), previous)
    expect(changed.json.diagnostics).toMatchObject({ cache_miss_reason: { type: 'tools_changed' } })
  })

  test('a change that only the other process has seen is reported once', async () => {
    const [here, there] = openTwo()
    await here(write.chat(plain, false))
    const changed = { ...plain, ...system('12:01', '12:02') }
    expect((await there(write.chat(changed, true))).prefix).toContain('change=date')
    expect((await here(write.chat(changed, true))).prefix).toBeUndefined()
  })
})

test('clean turns of conversations are never said to differ', async () => {
  const words = fc.constantFrom('ok', 'Go on.', 'It is 12:01.', '<reminder>12</reminder>', 'Why?', 'Done', '')
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        type: fc.constant('answer' as const),
        words,
        asks: words,
        thinks: fc.boolean(),
        calls: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('again' as const) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('edit' as const), words }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('title' as const) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('fork' as const), words }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('agent' as const), words, count: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('summary' as const), words }) },
  )
  let turns = 0
  const session = fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: 14 }),
    session: fc.option(fc.constant('s'), { nil: undefined }),
    keeps: fc.boolean(),
  })
  const property = fc.asyncProperty(session, async ({ steps, session, keeps }) => {
    const memory = new PrefixMemory({ render })
    const readTemplate = () => templates[keeps ? 'of all answers' : 'of none'].source
    const system = (words: string): Message => ({ role: 'system', content: [text(words)] })
    const user = (words: string): Message => ({ role: 'user', content: [text(words)] })
    const send = async (messages: readonly Message[]) => {
      turns += 1
      const prompt = { type: 'chat' as const, ...plainChat, messages, tools: [] }
      expect(await memory.note({ id: `r${turns}`, owner: 'a', model: 'm', session, prompt, readTemplate })).toEqual({})
    }
    let conversation: readonly Message[] = [system('You are an agent.'), user('Read notes.txt.')]
    await send(conversation)
    for (const [index, made] of steps.entries()) {
      switch (made.type) {
        case 'answer': {
          const id = `call_${index}`
          const parts = [...(made.thinks ? [reasoning('Hm.')] : []), text(`${index} ${made.words}`)]
          const answer = assistant(...parts, ...(made.calls ? [call(id, 'f', '{}')] : []))
          const result: Message = made.calls ? { role: 'tool', toolCallId: id, content: [text(made.asks)] } : user(made.asks)
          conversation = [...conversation, answer, result]
          await send(conversation)
          break
        }
        case 'again':
          await send(conversation)
          break
        case 'edit':
          conversation = [...conversation.slice(0, -1), user(`Edited ${index}: ${made.words}`)]
          await send(conversation)
          break
        case 'title':
          await send([
            system('Write a title of at most five words for this conversation, and nothing else.'),
            ...conversation.slice(1, 2),
          ])
          break
        case 'fork':
          await send([...conversation, user(`Suggest what to ask next: ${made.words}`)])
          break
        case 'agent': {
          const task = user(`Task ${index}: ${made.words}`)
          const steps = Array.from({ length: made.count }, (_, at) => [assistant(text(`step ${at}`)), user('Go on.')])
          for (let at = 0; at <= steps.length; at++)
            await send([system('You are a subordinate.'), task, ...steps.slice(0, at).flat()])
          break
        }
        case 'summary':
          conversation = [conversation[0] ?? system(''), user(`Summary ${index}: ${made.words}`)]
          await send(conversation)
      }
    }
  })
  await fc.assert(property, { numRuns: 300 })
  expect(turns).toBeGreaterThan(1000)
})
