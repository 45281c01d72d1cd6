import { describe, expect, test } from 'vitest'
import { readLlamaTemplates } from '../../../../test/support/llama/llama-templates.ts'
import { answer, ask, engineOver, failure, upstream } from '../../../../test/support/upstream/remote-engine.ts'
import { chatChunk, doneLine, streamOf } from '../../../../test/support/upstream/upstream.ts'

const tool = {
  name: 'find_boat',
  description: 'Finds one.',
  parameters: { type: 'object', properties: { name: { type: 'string' }, seats: { type: 'integer' } }, required: ['name'] },
} as const
const templates = readLlamaTemplates()
const jsonCall = '", "seats": 4}}\n</tool_call>'
const taggedCall = '\n</parameter>\n<parameter=seats>\n4\n</parameter>\n</function>\n</tool_call>'

type Broken = {
  readonly sent?: string
  readonly rest: string
  readonly thought?: string
  readonly said?: string
  readonly template?: string | undefined
}

/** A llama-server of this template that is killed when it has sent a part of a call. */
async function breakingServer({ sent = '{"name":"The Sea', rest, thought, said, template }: Broken) {
  const textChunk = (choice: object) =>
    `data: ${JSON.stringify({ object: 'text_completion', choices: [{ index: 0, ...choice }] })}\n\n`
  const started = await upstream(
    (request, response) => {
      if (request.path === '/v1/completions')
        return streamOf(textChunk({ text: rest }), textChunk({ text: '', finish_reason: 'stop' }), doneLine)(request, response)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'find_boat', arguments: '' } }
      if (thought !== undefined) response.write(chatChunk({ delta: { reasoning_content: thought } }))
      if (said !== undefined) response.write(chatChunk({ delta: { content: said } }))
      response.write(chatChunk({ delta: { tool_calls: [call] } }))
      for (const piece of sent) {
        response.write(chatChunk({ delta: { tool_calls: [{ index: 0, function: { arguments: piece } }] } }))
      }
      setTimeout(() => response.destroy(), 20)
      return undefined
    },
    { ownedBy: 'llamacpp' },
  )
  started.get = (path, response) => {
    if (path !== '/props') return false
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ chat_template: template, build_info: 'b1' }))
    return true
  }
  return started
}

const askForBoat = (options = {}) => ask('Find it.', options, [tool])

describe.skipIf(templates === undefined)('a llama-server that breaks off in a call', () => {
  test.each<[string, string, Partial<Broken>]>([
    ['Qwen-Qwen3-0.6B.jinja', jsonCall, {}],
    ['Qwen-Qwen3-0.6B.jinja', jsonCall, { thought: 'Hm.', said: 'I look.' }],
    ['Qwen-Qwen3-0.6B.jinja', '"name": "The Sea", "seats": 4}}\n</tool_call>', { sent: '{"na' }],
    ['Qwen-Qwen3-0.6B.jinja', '4}}\n</tool_call>', { sent: '{"name": "The Sea", "seats": 4' }],
    ['Qwen-Qwen3-0.6B.jinja', '}\n</tool_call>', { sent: '{"name": "The Sea", "seats": 4}' }],
    ['Qwen-Qwen3-0.6B.jinja', '{"name": "The Sea", "seats": 4}}\n</tool_call>', { sent: '' }],
    ['Qwen3.5-4B.jinja', taggedCall, {}],
    ['Qwen3.5-4B.jinja', taggedCall, { thought: 'Hm.' }],
    ['Qwen3.5-4B.jinja', `<parameter=name>\nThe Sea${taggedCall}`, { sent: '{"na' }],
    ['Qwen3.5-4B.jinja', taggedCall.slice(taggedCall.indexOf('<parameter')), { sent: '{"name":"The Sea"' }],
    ['Qwen3.5-4B.jinja', taggedCall.slice(taggedCall.indexOf('4')), { sent: '{"name":"The Sea","seats":4' }],
    ['Qwen3.5-4B.jinja', taggedCall.slice(taggedCall.indexOf('</function')), { sent: '{"name":"The Sea","seats":4}' }],
    ['Qwen3.5-4B.jinja', `<parameter=name>\nThe Sea${taggedCall}`, { sent: '' }],
    ['Qwen3-Coder.jinja', taggedCall, { said: 'I look.' }],
    ['GLM-4.6.jinja', '</arg_value>\n<arg_key>seats</arg_key>\n<arg_value>4</arg_value>\n</tool_call>', {}],
    ['openai-gpt-oss-120b.jinja', '","seats":4}', { thought: 'Hm.' }],
    ['meta-llama-Llama-3.1-8B-Instruct.jinja', '", "seats": 4}}', {}],
    ['mistralai-Mistral-Nemo-Instruct-2407.jinja', '", "seats": 4}, "id": "123456789"}]', {}],
    ['deepseek-ai-DeepSeek-V3.1.jinja', '", "seats": 4}<｜tool▁call▁end｜><｜tool▁calls▁end｜>', {}],
  ])('goes on where the client is: %s, %j, %j', async (name, rest, broken) => {
    const server = await breakingServer({ rest, template: templates?.get(name), ...broken })
    const { choices } = await answer(engineOver([server], { profile: 'llama-server' }), askForBoat())
    const parts = choices[0]?.parts ?? []
    const calls = parts.filter((part) => part.type === 'tool-call')
    expect(calls.map(({ id, name, input }) => ({ id, name, input: JSON.parse(input) }))).toEqual([
      { id: 'call_1', name: 'find_boat', input: { name: 'The Sea', seats: 4 } },
    ])
    expect(parts.flatMap((part) => (part.type === 'tool-call' ? [] : 'text' in part ? [part.text] : []))).toEqual(
      [broken.thought, broken.said].filter((text) => text !== undefined),
    )
    expect(choices[0]?.finish.reason).toBe('tool-calls')
    const generations = server.seen.filter(({ body }) => body.stream === true)
    expect(generations.map(({ path }) => path)).toEqual(['/v1/chat/completions', '/v1/completions'])
  })

  test.each<[string, Partial<Broken>, object]>([
    ['whose template is not known', {}, {}],
    [
      'that the model goes on with in another way',
      { template: 'Qwen3.5-4B.jinja', sent: '{"name":"The Sea"}', rest: taggedCall.slice(taggedCall.indexOf('<parameter')) },
      {},
    ],
    ['that has to be made', { template: 'Qwen-Qwen3-0.6B.jinja' }, { toolChoice: { type: 'required' } }],
  ])('fails with a call %s', async (_, { template, ...broken }, request) => {
    const known = template === undefined ? undefined : templates?.get(template)
    const server = await breakingServer({ rest: jsonCall, ...broken, template: known })
    expect(await failure(engineOver([server], { profile: 'llama-server' }), askForBoat(request))).toMatchObject({
      code: 'upstream-failed',
    })
  })
})
