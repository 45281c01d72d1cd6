import { describe, expect, test } from 'vitest'
import { readLlamaTemplates } from '../../../test/support/llama/llama-templates.ts'
import { answer, ask, engineOver, failure, upstream } from '../../../test/support/upstream/remote-engine.ts'
import { type Answer, doneLine, streamOf } from '../../../test/support/upstream/upstream.ts'
import { withOneBos } from './own-prompts.ts'

const bos = '<s>'

test.each([
  ['a server that adds it gets none', '<s>hi', { bos, serverAdds: true, tokenizerAdds: true }, 'hi'],
  ['… however often the template writes it', '<s><s>hi', { bos, serverAdds: true, tokenizerAdds: true }, 'hi'],
  ['a server that does not gets the one of the template', '<s>hi', { bos, serverAdds: false, tokenizerAdds: true }, '<s>hi'],
  ['… once', '<s><s>hi', { bos, serverAdds: false, tokenizerAdds: false }, '<s>hi'],
  ['… and one where the template leaves it to the tokenizer', 'hi', { bos, serverAdds: false, tokenizerAdds: true }, '<s>hi'],
  ['a model without one gets none', 'hi', { bos, serverAdds: false, tokenizerAdds: false }, 'hi'],
  ['an unknown text is left alone', '<s>hi', { bos: undefined, serverAdds: true, tokenizerAdds: true }, '<s>hi'],
  ['one inside of the text is the text', 'hi <s>', { bos, serverAdds: true, tokenizerAdds: true }, 'hi <s>'],
])('%s', (_, text, options, expected) => {
  expect(withOneBos(text, options)).toBe(expected)
})

const harmony = readLlamaTemplates()?.get('openai-gpt-oss-120b.jinja')

describe.skipIf(harmony === undefined)('a llama-server that cannot read what its model writes', () => {
  const unread = 'The model produced output that does not match the expected peg-native format'
  const raw = '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.'
  const textChunk = (choice: object) =>
    `data: ${JSON.stringify({ object: 'text_completion', choices: [{ index: 0, ...choice }] })}\n\n`
  const sendsText = streamOf(textChunk({ text: raw }), textChunk({ text: '', finish_reason: 'stop' }), doneLine)
  const failsAtChat: Answer = (request, response) => {
    if (request.path === '/v1/completions') return sendsText(request, response)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { role: 'assistant', content: null } }] })}\n\n`)
    response.end(`data: ${JSON.stringify({ error: { code: 500, message: unread, type: 'server_error' } })}\n\n`)
    return undefined
  }
  const server = async (template: string | undefined) => {
    const started = await upstream(failsAtChat, { ownedBy: 'llamacpp' })
    started.get = (path, response) => {
      if (path !== '/props') return false
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ chat_template: template, build_info: 'b1' }))
      return true
    }
    return started
  }

  test('gets the conversation as a text, which is read here', async () => {
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

  test('fails where its template is not known', async () => {
    const started = await server(undefined)
    expect(await failure(engineOver([started], { profile: 'llama-server' }))).toMatchObject({
      code: 'upstream-failed',
      message: expect.stringContaining(unread),
    })
  })
})
