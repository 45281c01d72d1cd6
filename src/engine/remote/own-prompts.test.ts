import { describe, expect, test } from 'vitest'
import { readLlamaTemplates } from '../../../test/support/llama/llama-templates.ts'
import { text } from '../../../test/support/parts.ts'
import { droppingUpstream } from '../../../test/support/upstream/dropping-upstream.ts'
import { answer, ask, engineOver, failure, upstream } from '../../../test/support/upstream/remote-engine.ts'
import { type Answer, doneLine, streamOf } from '../../../test/support/upstream/upstream.ts'
import { type Message, plainChat } from '../../contract/request.ts'
import { withOneBos } from './own-prompts.ts'
import { protocolNames } from './servers/profile.ts'

const bos = '<s>'
const say = (role: 'system' | 'user', words: string): Message => ({ role, content: [text(words)] })

test.each([
  ['a server that adds it gets none', '<s>hi', { bos, serverAdds: true, tokenizerAdds: true }, 'hi'],
  ['… however often the template writes it', '<s><s>hi', { bos, serverAdds: true, tokenizerAdds: true }, 'hi'],
  ['a server that does not gets the one of the template', '<s>hi', { bos, serverAdds: false, tokenizerAdds: true }, '<s>hi'],
  ['… once', '<s><s>hi', { bos, serverAdds: false, tokenizerAdds: false }, '<s>hi'],
  ['… and one where the template leaves it to the tokenizer', 'hi', { bos, serverAdds: false, tokenizerAdds: true }, '<s>hi'],
  ['a model without one gets none', 'hi', { bos, serverAdds: false, tokenizerAdds: false }, 'hi'],
  ['an unknown text is left alone', '<s>hi', { bos: undefined, serverAdds: true, tokenizerAdds: true }, '<s>hi'],
  ['one inside of the text is the text', 'hi <s>', { bos, serverAdds: true, tokenizerAdds: true }, 'hi <s>'],
])('the server reads one BOS token: %s', (_, text, options, expected) => {
  expect(withOneBos(text, options)).toBe(expected)
})

const harmony = readLlamaTemplates()?.get('openai-gpt-oss-120b.jinja')

describe.skipIf(harmony === undefined)('a llama-server that cannot read what its model writes', () => {
  const unread = 'The model produced output that does not match the expected peg-native format'
  const raw = '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.'
  const textChunk = (choice: object) =>
    `data: ${JSON.stringify({ object: 'text_completion', choices: [{ index: 0, ...choice }] })}\n\n`
  const sends = (text: string) => streamOf(textChunk({ text }), textChunk({ text: '', finish_reason: 'stop' }), doneLine)
  const failsAtChatAfter =
    (written: object, text: string): Answer =>
    (request, response) => {
      if (request.path === '/v1/completions') return sends(text)(request, response)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { role: 'assistant', ...written } }] })}\n\n`)
      response.end(`data: ${JSON.stringify({ error: { code: 500, message: unread, type: 'server_error' } })}\n\n`)
      return undefined
    }
  const server = async (
    template: string | undefined,
    {
      writes = null,
      thinks,
      text = raw,
    }: { readonly writes?: string | null; readonly thinks?: string; readonly text?: string } = {},
  ) => {
    const written = { content: writes, ...(thinks !== undefined && { reasoning_content: thinks }) }
    const started = await upstream(failsAtChatAfter(written, text), { ownedBy: 'llamacpp' })
    started.get = (path, response) => {
      if (path !== '/props') return false
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ chat_template: template, build_info: 'b1' }))
      return true
    }
    return started
  }

  test('the llama-server gets the conversation as a text, which is read here', async () => {
    const started = await server(harmony)
    const { choices } = await answer(engineOver([started], { profile: 'llama-server' }), ask('Say hello.'))
    expect(choices[0]?.parts).toMatchObject([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Hello.' },
    ])
    const last = started.seen.findLast(({ path }) => path === '/v1/completions')?.body
    expect(last).toMatchObject({
      prompt: expect.stringContaining('<|start|>user<|message|>Say hello.<|end|>'),
      preserved_tokens: expect.arrayContaining(['<|channel|>', '<|message|>', '<|end|>']),
    })
  })

  test.each<[string, string, string]>([
    ['openai-gpt-oss-120b.jinja', 'lo.<|end|>', '<|start|>assistant<|channel|>final<|message|>Hel'],
    ['meta-llama-Llama-3.1-8B-Instruct.jinja', 'lo.', '<|start_header_id|>assistant<|end_header_id|>\n\nHel'],
    [
      'Qwen-Qwen3-0.6B.jinja',
      'lo.<tool_call>\n{"name": "find_boat", "arguments": {}}\n</tool_call>',
      '<|im_start|>assistant\n<think>\n\n</think>\n\nHel',
    ],
  ])('the llama-server continues a reply that it broke off as a text, which is read here: %s', async (name, rest, promptEnd) => {
    const started = await server(readLlamaTemplates()?.get(name), { writes: 'Hel', text: rest })
    const tools = [{ name: 'find_boat', description: 'Finds one.', parameters: { type: 'object' } }]
    const prompt = { type: 'chat', ...plainChat, messages: [say('user', 'Find it.')], tools } as const
    const { choices } = await answer(engineOver([started], { profile: 'llama-server' }), ask('', { prompt }))
    expect(choices[0]?.parts[0]).toEqual({ type: 'text', text: 'Hello.' })
    expect(choices[0]?.parts.slice(1)).toMatchObject(rest.includes('tool_call') ? [{ type: 'tool-call', name: 'find_boat' }] : [])
    const generations = started.seen.filter(({ body }) => body.stream === true)
    expect(generations.map(({ path }) => path)).toEqual(['/v1/chat/completions', '/v1/completions'])
    expect(String(generations[1]?.body.prompt).slice(-promptEnd.length)).toBe(promptEnd)
  })

  test.each<[string, string, string, string | null, string]>([
    ['Qwen-Qwen3-0.6B.jinja', ' it.\n</think>\n\nHello.', '<|im_start|>assistant\n<think>\nFind', null, 'Hello.'],
    ['Qwen-Qwen3-0.6B.jinja', '</think>Hello.', '<|im_start|>assistant\n<think>\nFind', null, 'Hello.'],
    ['Qwen-Qwen3-0.6B.jinja', 'lo.', '<think>\nFind\n</think>\n\nHel', 'Hel', 'Hello.'],
    [
      'openai-gpt-oss-120b.jinja',
      ' it.<|end|><|start|>assistant<|channel|>final<|message|>Hello.',
      '<|start|>assistant<|channel|>analysis<|message|>Find',
      null,
      'Hello.',
    ],
  ])('… and one that it broke off in its thought, or after it: %s, %j', async (name, rest, promptEnd, writes, said) => {
    const started = await server(readLlamaTemplates()?.get(name), { thinks: 'Find', writes, text: rest })
    const { choices } = await answer(engineOver([started], { profile: 'llama-server' }), ask('Find it.'))
    const thought = rest.startsWith(' it.') ? 'Find it.' : 'Find'
    expect(choices[0]?.parts.map((part) => ('text' in part ? { ...part, text: part.text.trim() } : part))).toEqual([
      { type: 'reasoning', text: thought },
      { type: 'text', text: said },
    ])
    const generations = started.seen.filter(({ body }) => body.stream === true)
    expect(generations.map(({ path }) => path)).toEqual(['/v1/chat/completions', '/v1/completions'])
    expect(String(generations[1]?.body.prompt).slice(-promptEnd.length)).toBe(promptEnd)
  })

  test('the llama-server gets the next conversations as texts after a reply that it broke off', async () => {
    const started = await server(harmony, { writes: 'Hel' })
    const engine = engineOver([started], { profile: 'llama-server' })
    await answer(engine, ask('Say hello.'))
    started.seen.length = 0
    const { choices } = await answer(engine, ask('Say hello.', { id: 'next' }))
    expect(choices[0]?.parts).toMatchObject([{ type: 'reasoning' }, { type: 'text', text: 'Hello.' }])
    expect(started.seen.map(({ path }) => path)).not.toContain('/v1/chat/completions')

    // What the server made of one with tools is not known.
    const tools = [{ name: 'find_boat', description: 'Finds one.', parameters: { type: 'object' } }]
    const withTools = ask('', {
      id: 'with-tools',
      prompt: { type: 'chat', ...plainChat, messages: [say('user', 'Find it.')], tools },
    })
    await answer(engine, withTools)
    expect(started.seen.map(({ path }) => path)).toContain('/v1/chat/completions')
  })

  test('the llama-server fails where its template is not known', async () => {
    const started = await server(undefined)
    expect(await failure(engineOver([started], { profile: 'llama-server' }))).toMatchObject({
      code: 'upstream-failed',
      message: expect.stringContaining(unread),
    })
  })
})

describe('a llama-server drops the log-probabilities of text that its parser holds back', () => {
  const template = '{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{{ eos_token }}{% endfor %}[assistant]'
  const tokens = (...texts: readonly string[]) =>
    texts.map((token) => ({ token, bytes: [...Buffer.from(token)], logprob: -1, top_logprobs: [] }))
  const server = async (props: object, firstPiece = 'a') => {
    const started = await upstream(
      ({ path }, response) => {
        if (path === '/tokenize') return void response.end(JSON.stringify({ tokens: [{ id: 1, piece: firstPiece }] }))
        const logprobs = { content: tokens('Hi', '') }
        const choice = { index: 0, logprobs, finish_reason: 'stop' }
        const choices = [path === '/v1/completions' ? { ...choice, text: 'Hi' } : { ...choice, delta: { content: 'Hi' } }]
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        return void response.end(`data: ${JSON.stringify({ choices })}\n\n${doneLine}`)
      },
      { ownedBy: 'llamacpp' },
    )
    started.get = (path, response) => {
      if (path === '/props') response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(props))
      return path === '/props'
    }
    return started
  }
  const props = { chat_template: template, build_info: 'b1', bos_token: '<s>', eos_token: '</s>' }
  const conversation = [say('user', 'Hi'), { role: 'assistant', parts: [text('Yes?')] }, say('user', 'Go')] as const
  const prompt = { type: 'chat', ...plainChat, messages: conversation } as const
  const tools = [{ name: 'f', parameters: { type: 'object' } }] as const

  test.each([
    ['<s>', '[user]Hi</s>[assistant]Yes?</s>[user]Go</s>[assistant]'],
    ['a', '<s>[user]Hi</s>[assistant]Yes?</s>[user]Go</s>[assistant]'],
  ])(
    'a chat that asks for them goes as a text, with the special tokens that the server lacks: it puts %s first',
    async (first, sent) => {
      const started = await server(props, first)
      const { choices } = await answer(engineOver([started]), ask('', { prompt, logprobs: { top: 0 } }))
      const generation = started.seen.find(({ body }) => body.stream === true)
      expect(generation).toMatchObject({ path: '/v1/completions', body: { prompt: sent, logprobs: 1 } })
      // The control token that ends the turn does not belong to the text.
      expect(choices[0]?.tokens?.map((token) => token.text)).toEqual(['Hi'])
    },
  )

  test.each([undefined, true] as const)(
    'a chat with tools that asks for them goes as a text, too: the server refuses both together; strict: %s',
    async (strict) => {
      const started = await server(props)
      const declared = tools.map((tool) => ({ ...tool, ...(strict && { strict }) }))
      await answer(engineOver([started]), ask('', { prompt: { ...prompt, tools: declared }, logprobs: { top: 0 } }))
      expect(started.seen.find(({ body }) => body.stream === true)?.path).toBe('/v1/completions')
    },
  )

  test.each([
    ['asks for none', props, { prompt }],
    ['has an unknown template', { ...props, chat_template: undefined }, { prompt, logprobs: { top: 0 } }],
    [
      'has a template that fails here',
      { ...props, chat_template: '{{ raise_exception("no") }}' },
      { prompt, logprobs: { top: 0 } },
    ],
  ])('a chat that %s goes as one', async (_, told, request) => {
    const started = await server(told)
    await answer(engineOver([started]), ask('', request))
    expect(started.seen.find(({ body }) => body.stream === true)?.path).toBe('/v1/chat/completions')
  })
})

/** Takes one system message, at the start. */
const firstSystem = `{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('late') }}{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}`
const { answer: reply } = droppingUpstream({ conforming: '', prose: 'ok' })

test.each(protocolNames)('a conversation is healed for a template that is known, in %s', async (protocol) => {
  const server = await upstream(reply, { ownedBy: 'llamacpp' })
  const engine = engineOver([server], { profile: 'llama-server', protocol, readTemplate: async () => ({ source: firstSystem }) })
  const bodyFor = async (...messages: readonly Message[]) => {
    server.seen.length = 0
    await answer(engine, ask('', { prompt: { type: 'chat', ...plainChat, messages } }))
    const generations = server.seen.filter(({ body }) => body.stream === true)
    expect(generations).toHaveLength(1)
    return generations[0]?.body
  }
  const healed = await bodyFor(say('user', 'a\n\nb'), say('user', 'c'))
  expect(await bodyFor(say('user', 'a'), say('system', 'b'), say('user', 'c'))).toEqual(healed)
})
