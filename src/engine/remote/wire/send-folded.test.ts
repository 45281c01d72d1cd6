import { describe, expect, test } from 'vitest'
import { readLlamaTemplates } from '../../../../test/support/llama/llama-templates.ts'
import { assistant, call, text } from '../../../../test/support/parts.ts'
import { droppingUpstream } from '../../../../test/support/upstream/dropping-upstream.ts'
import { messageOf, textBlock } from '../../../../test/support/upstream/messages-stream.ts'
import {
  answer,
  ask,
  engineOver,
  eventsOf,
  failure,
  fine,
  knownEngine,
  never,
  refusing,
  upstream,
} from '../../../../test/support/upstream/remote-engine.ts'
import { type Answer, chatChunk, doneLine, streamOf } from '../../../../test/support/upstream/upstream.ts'
import { type GenerationRequest, type Message, plainChat } from '../../../contract/request.ts'
import { compileJinja, type JinjaTemplate } from '../../../jinja/jinja-template.ts'
import { histories } from '../../../model-text/template/__fixtures__/histories.ts'
import { oddSchemas } from '../../../model-text/template/__fixtures__/odd-schemas.ts'
import type { ProfileName, Protocol } from '../servers/profile.ts'

type Sent = {
  readonly role: string
  readonly content?: unknown
  readonly tool_calls?: readonly { function: { arguments: string } }[]
}

const refusal = (message: string) => refusing(400, JSON.stringify({ error: { message, type: 'BadRequestError', param: null } }))

/** A server that renders with this template, as vLLM does: it parses arguments, and answers a refusal of the template with its words. */
function rendering(template: JinjaTemplate): Answer {
  return (request, response) => {
    const { messages, tools } = request.body as { messages: readonly Sent[]; tools?: unknown }
    try {
      const parsed = messages.map((message) => ({
        ...message,
        ...(message.tool_calls && {
          tool_calls: message.tool_calls.map((call) => ({
            ...call,
            function: { ...call.function, arguments: JSON.parse(call.function.arguments) },
          })),
        }),
      }))
      template.render({ messages: parsed, tools: tools ?? null, add_generation_prompt: true, bos_token: '', eos_token: '' })
    } catch (error) {
      return refusal(String(error))(request, response)
    }
    return fine(request, response)
  }
}

/** Anthropic's rules: a user begins, every call has its result in the next turn and every result its call, and no system message is late. */
const anthropic: Answer = (request, response) => {
  const { messages } = request.body as {
    messages: readonly { role: string; content: string | readonly Record<string, string>[] }[]
  }
  const ids = (index: number, type: string, key: string) => {
    const content = messages[index]?.content
    return typeof content === 'object' ? content.flatMap((block) => (block.type === type ? [block[key]] : [])).sort() : []
  }
  const isPaired = messages.every(
    (_, index) => String(ids(index, 'tool_use', 'id')) === String(ids(index + 1, 'tool_result', 'tool_use_id')),
  )
  const isAllowed =
    messages[0]?.role === 'user' &&
    isPaired &&
    ids(0, 'tool_result', 'tool_use_id').length === 0 &&
    messages.every(({ role }) => role !== 'system')
  if (!isAllowed) return refusal('messages: not like this')(request, response)
  return messageOf(textBlock(0, 'ok'))(request, response)
}

const plainTool = {
  name: 'f',
  description: 'Does it.',
  parameters: { type: 'object', properties: { a: { type: 'string', description: 'An a.' } }, required: ['a'] },
}

/** Whether a plain question is rendered. */
function takes(template: JinjaTemplate, tools: (typeof histories)[number]['tools'] = []): boolean {
  try {
    const shown = tools.length === 0 ? null : tools.map((tool) => ({ type: 'function', function: tool }))
    template.render({
      messages: [{ role: 'user', content: 'q' }],
      tools: shown,
      add_generation_prompt: true,
      bos_token: '',
      eos_token: '',
    })
    return true
  } catch {
    return false
  }
}

const requestOf = ({ messages, tools = [], start = 'new-turn' }: (typeof histories)[number]): GenerationRequest => ({
  ...ask(''),
  prompt: { type: 'chat', ...plainChat, messages, tools, start },
})

const isWhole = process.env.EQUAL_ENGINES === 'all'
/** Those that refuse most. */
const strict =
  /^(Qwen3.5-4B|mistralai-Mistral-Nemo|Mistral-Small-3.2|google-gemma-2|NousResearch-Hermes-3|openai-gpt-oss|CohereForAI-c4ai-command-r7b)/
const all = readLlamaTemplates()
const templates = [...(all ?? [])].filter(([name]) => isWhole || strict.test(name))
const begun = histories.filter(({ start }) => start !== 'last-message')

describe('what a server refuses is sent once more in a form that its template renders', () => {
  test.skipIf(all === undefined).each<ProfileName>(['vllm', 'sglang', 'openai', 'ollama'])(
    'to %s, with any template',
    async (profile) => {
      const faults: string[] = []
      for (const [name, source] of templates) {
        const template = compileJinja(source, { rules: 'transformers' })
        const server = await upstream(rendering(template))
        const engine = engineOver([server], { profile })
        for (const history of begun) {
          // Templates for tools alone are not used without them.
          if (!takes(template, history.tools)) continue
          const end = await answer(engine, requestOf(history)).catch((error: Error) => error)
          if (end instanceof Error) faults.push(`${name}, ${history.name}: ${end.message}`)
        }
        // Some render tools with variables, or by rules, that only their own servers have.
        for (const parameters of takes(template, [plainTool]) ? oddSchemas : []) {
          const tool = { name: 'find_boat', description: 'Finds one.', ...(parameters !== undefined && { parameters }) }
          const end = await answer(engine, ask('Usr1', {}, [tool])).catch((error: Error) => error)
          if (end instanceof Error) faults.push(`${name}, ${JSON.stringify(parameters)}: ${end.message}`)
        }
      }
      expect(faults).toEqual([])
    },
  )

  test('to a server with the rules of Anthropic', async () => {
    const server = await upstream(anthropic)
    const engine = engineOver([server], { profile: 'anthropic' })
    const faults: string[] = []
    for (const history of histories) {
      const end = await answer(engine, requestOf(history)).catch((error: Error) => error)
      if (end instanceof Error) faults.push(`${history.name}: ${end.message}`)
    }
    expect(faults).toEqual([])
    // A sound conversation has lost nothing by those: no signature, no id, no call.
    const signed = { type: 'reasoning', text: 'hm', opaque: 'signature:s' } as const
    const tooled = assistant(signed, call('toolu_long_id', 'f', '{"a":"b"}'))
    const messages: readonly Message[] = [say('a'), tooled, { role: 'tool', toolCallId: 'toolu_long_id', content: [text('c')] }]
    const parameters = { type: 'object', properties: { a: { $ref: '#/$defs/T' } }, $defs: { T: { type: 'string' } } }
    const tools = [{ name: 'f', parameters }]
    await answer(engine, ask('', { prompt: { type: 'chat', ...plainChat, tools, messages } }))
    const { body } = server.seen.at(-1) ?? {}
    expect(body?.messages).toMatchObject([
      {},
      {
        content: [
          { type: 'thinking', signature: 's' },
          { type: 'tool_use', id: 'toolu_long_id' },
        ],
      },
      { content: [{ type: 'tool_result', tool_use_id: 'toolu_long_id' }] },
    ])
    expect(body?.tools).toMatchObject([{ input_schema: parameters }])
  })
})

const say = (words: string): Message => ({ role: 'user', content: [text(words)] })
const calling = {
  type: 'chat',
  ...plainChat,
  tools: [plainTool],
  messages: [say('a'), assistant(call('call_1', 'f', '{"a":"b"}')), { role: 'tool', toolCallId: 'call_1', content: [text('c')] }],
} as const
const called = ask('', { prompt: calling })

describe('a server that takes no calls in a history', () => {
  const { answer: reply } = droppingUpstream({ conforming: '', prose: 'ok' })
  const callsInside = /"tool_use"|"function_call"|"tool_calls"/
  const withoutCalls: Answer = (request, response) => {
    if (callsInside.test(JSON.stringify(request.body))) return refusal('no calls')(request, response)
    if (!/token/.test(request.path)) return reply(request, response)
    response.end(JSON.stringify({ tokens: [1, 2, 3], input_tokens: 3 }))
    return undefined
  }

  test.each<Protocol>(['chat', 'responses', 'messages'])('the server gets and counts them as text, in %s', async (protocol) => {
    const server = await upstream(withoutCalls)
    const engine = await knownEngine([server], { profile: 'vllm', protocol })
    const counted = { prompt: calling, reasoning: {}, addBos: false, parseSpecial: true }
    expect(await engine.capabilities.tokenizer?.count(counted, never)).toBe(3)
    const { choices } = await answer(engine, { ...called, choices: 2 })
    expect(choices).toMatchObject([{ parts: [{ text: 'ok' }] }, { parts: [{ text: 'ok' }] }])
    // The count has learned it.
    const refused = server.seen.filter(({ body }) => callsInside.test(JSON.stringify(body)))
    expect(refused.every(({ path }) => path.includes('token'))).toBe(true)
  })

  test('the server has its broken reply continued as text, too', async () => {
    let turn = 0
    const breaking: Answer = (request, response) => {
      if (callsInside.test(JSON.stringify(request.body))) return refusal('no calls')(request, response)
      turn += 1
      return streamOf(
        ...(turn === 1
          ? [chatChunk({ delta: { content: 'o' } })]
          : [chatChunk({ delta: { content: 'k' }, finish_reason: 'stop' }), doneLine]),
      )(request, response)
    }
    const servers = [await upstream(breaking), await upstream(breaking)]
    const { choices } = await answer(engineOver(servers, { profile: 'vllm' }), called)
    expect(choices).toMatchObject([{ parts: [{ text: 'ok' }] }])
    const continuations = servers.flatMap(({ seen }) => seen).filter(({ body }) => body.continue_final_message === true)
    expect(continuations.some(({ body }) => !callsInside.test(JSON.stringify(body)))).toBe(true)
  })
})

describe('a form that a server has taken', () => {
  const system = (words: string): Message => ({ role: 'system', content: [text(words)] })
  const late = ask('', {
    prompt: { type: 'chat', ...plainChat, messages: [system('a'), system('b'), { role: 'user', content: [text('c')] }] },
  })
  const onlyFirst: Answer = (request, response) => {
    const messages = request.body.messages as readonly Sent[]
    return (messages.some(({ role }, index) => index > 0 && role === 'system') ? refusal('system first') : fine)(
      request,
      response,
    )
  }
  const rolesIn = (body: Record<string, unknown>) => (body.messages as readonly Sent[]).map(({ role }) => role).join()

  test('the form is remembered for that server', async () => {
    const server = await upstream(onlyFirst)
    const engine = await knownEngine([server], { profile: 'vllm' })
    await answer(engine, late)
    await answer(engine, late)
    expect(server.seen.map(({ body }) => rolesIn(body))).toEqual(['system,system,user', 'system,user', 'system,user'])
  })

  test('the form is not tried for a refusal that names a field or a limit', async () => {
    for (const error of [
      { message: 'no', param: 'temperature' },
      { message: "This model's maximum context length is 10 tokens. However, your messages resulted in 20 tokens." },
      { message: 'Input validation error: `max_new_tokens` must be <= 512. Given: 600' },
    ]) {
      const server = await upstream(refusing(400, JSON.stringify({ error })))
      await failure(engineOver([server], { profile: 'vllm' }), late)
      expect([...new Set(server.seen.map(({ body }) => rolesIn(body)))]).toEqual(['system,system,user'])
    }
  })

  test('the form is remembered though its reply was not read to its end', async () => {
    const server = await upstream((request, response) => {
      if (rolesIn(request.body) === 'system,system,user') return refusal('system first')(request, response)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chatChunk({ delta: { content: 'ok' } }))
      return undefined
    })
    const engine = await knownEngine([server], { profile: 'vllm' })
    for (let turn = 0; turn < 2; turn++) {
      for await (const { type } of eventsOf(engine, late)) if (type === 'text-delta') break
    }
    expect(server.seen.map(({ body }) => rolesIn(body))).toEqual(['system,system,user', 'system,user', 'system,user'])
  })

  test('the form ends with the first refusal where none is taken', async () => {
    let count = 0
    const server = await upstream((request, response) => {
      count += 1
      return refusal(`refusal ${count}`)(request, response)
    })
    expect(await failure(engineOver([server], { profile: 'vllm' }), late)).toMatchObject({
      code: 'invalid-request',
      message: 'refusal 1',
    })
    // One system message at the start, and none: turns alternate already.
    expect(server.seen.map(({ body }) => rolesIn(body))).toEqual(['system,system,user', 'system,user', 'user'])
  })
})
