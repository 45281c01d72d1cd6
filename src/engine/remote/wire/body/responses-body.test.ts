import { describe, expect, test } from 'vitest'
import { assistant, bytes, call, image, reasoning, refusal, text } from '../../../../../test/support/parts.ts'
import {
  type ChatPrompt,
  type FunctionTool,
  type GenerationRequest,
  type Message,
  plainChat,
  plainRequest,
} from '../../../../contract/request.ts'
import type { ProfileName } from '../../servers/profile.ts'
import { profileIn } from '../../servers/protocols.ts'
import { countableResponse, responsesBody } from './responses-body.ts'

type Options = {
  readonly kind?: ProfileName
  readonly request?: Partial<GenerationRequest>
  readonly prompt?: Partial<ChatPrompt>
}

const say = (words: string): Message => ({ role: 'user', content: [text(words)] })
const tool = (name: string): FunctionTool => ({ name, parameters: { type: 'object', properties: {} } })

function writtenFor({ kind = 'openai', request: more, prompt: given }: Options) {
  const prompt = { type: 'chat', ...plainChat, messages: [say('hi')], ...given } as const
  const request = { ...plainRequest, id: 'x', model: 'm', prompt, ...more }
  return responsesBody(request, prompt, { profile: profileIn(kind, 'responses'), model: 'up' })
}

const bodyFor = (options: Options) => writtenFor(options).body
const inputFor = (messages: readonly Message[], kind: ProfileName = 'openai') => bodyFor({ kind, prompt: { messages } }).input

describe('a request of Responses', () => {
  test('stores nothing, and has the names of the protocol', () => {
    const request = { sampling: { temperature: 0.5, topP: 0.9 }, maxOutputTokens: 9, stop: ['END'] }
    expect(writtenFor({ request })).toEqual({
      path: '/responses',
      body: {
        model: 'up',
        input: [{ type: 'message', role: 'user', content: 'hi' }],
        stream: true,
        store: false,
        temperature: 0.5,
        top_p: 0.9,
        max_output_tokens: 9,
      },
    })
  })

  test.each<[Partial<GenerationRequest>, readonly (string | number)[]]>([
    [{ ignoreEos: true }, ['ignoreEos']],
    [{ sampling: { seed: 1 } }, ['sampling', 'seed']],
    [{ sampling: { topK: 5 } }, ['sampling', 'topK']],
    [{ sampling: { presencePenalty: 1 } }, ['sampling', 'presencePenalty']],
    [{ sampling: { logitBias: new Map([[1, 2]]) } }, ['sampling', 'logitBias']],
    [{ reasoning: { budgetTokens: 100 } }, ['reasoning', 'budgetTokens']],
    [{ reasoning: { preserve: true } }, ['reasoning', 'preserve']],
    [{ output: { type: 'regex', pattern: 'a' } }, ['output']],
  ])('the request refuses what the protocol lacks: %j', (request, at) => {
    expect(() => bodyFor({ request })).toThrow(expect.objectContaining({ code: 'unsupported-field', at }))
  })

  test.each<[Partial<ChatPrompt>, readonly (string | number)[]]>([
    [{ start: 'bare' }, ['prompt', 'start']],
    [{ start: 'last-message', messages: [say('a'), assistant(text('b'))] }, ['prompt', 'start']],
    [{ responsePrefix: 'Well' }, ['prompt', 'responsePrefix']],
    [{ templateVariables: { a: 1 } }, ['prompt', 'templateVariables']],
    [{ messages: [{ ...say('a'), name: 'Ada' }] }, ['prompt', 'messages', 0, 'name']],
    [{ messages: [say('a'), assistant(text('b'), image('aa'))] }, ['prompt', 'messages', 1, 'parts', 1]],
  ])('the request refuses of a prompt what the protocol lacks: %j', (prompt, at) => {
    expect(() => bodyFor({ prompt })).toThrow(expect.objectContaining({ code: 'unsupported-field', at }))
  })

  test('the request to Dragoman has its additional fields', () => {
    const request = { sampling: { topK: 5, seed: 3, presencePenalty: 1 }, ignoreEos: true, reasoning: { enabled: false } }
    expect(bodyFor({ kind: 'dragoman', request, prompt: { templateVariables: { a: 1 } } })).toMatchObject({
      top_k: 5,
      seed: 3,
      presence_penalty: 1,
      ignore_eos: true,
      chat_template_kwargs: { a: 1 },
      include: ['reasoning.encrypted_content'],
    })
  })

  test('the format of the text is beside its verbosity', () => {
    const output = { type: 'json-schema', schema: { type: 'object' }, strict: true, name: 'n', description: 'd' } as const
    const written = writtenFor({ request: { output }, prompt: { templateVariables: { verbosity: 'low' } } })
    const format = { type: 'json_schema', name: 'n', description: 'd', schema: { type: 'object' }, strict: true }
    expect(written.body.text).toEqual({ format, verbosity: 'low' })
    expect(written.structured).toBe('partial')
    expect(bodyFor({ request: { output: { type: 'json-object' } } }).text).toEqual({ format: { type: 'json_object' } })
  })

  test('the request passes on what a caller says about itself', () => {
    const forwarded = { user: 'u', serviceTier: 'flex', promptCacheKey: 'k', metadata: { a: 'b' } }
    const fields = { user: 'u', service_tier: 'flex', prompt_cache_key: 'k', metadata: { a: 'b' } }
    expect(bodyFor({ request: { forwarded } })).toMatchObject(fields)
  })

  test('log-probabilities are included', () => {
    expect(bodyFor({ request: { logprobs: { top: 3 } } })).toMatchObject({
      top_logprobs: 3,
      include: ['message.output_text.logprobs'],
    })
  })

  test.each<[GenerationRequest['reasoning'], unknown, unknown]>([
    [{}, undefined, undefined],
    [{ effort: 'low' }, { effort: 'low' }, ['reasoning.encrypted_content']],
    [{ enabled: true }, { summary: 'auto' }, ['reasoning.encrypted_content']],
    [{ enabled: false }, { effort: 'none' }, undefined],
    [{ budgetTokens: 0 }, { effort: 'none' }, undefined],
    [{ enabled: true, budgetTokens: 2000, isWish: true }, undefined, undefined],
    [{ enabled: false, isWish: true }, undefined, undefined],
  ])('reasoning for %j', (asked, fields, include) => {
    const body = bodyFor({ request: { reasoning: asked } })
    expect([body.reasoning, body.include]).toEqual([fields, include])
  })

  test.each<[Partial<GenerationRequest>, unknown, readonly string[]]>([
    [{}, 'auto', ['f', 'g']],
    [{ toolChoice: { type: 'required' } }, 'required', ['f', 'g']],
    [{ toolChoice: { type: 'required', names: ['g'] } }, { type: 'function', name: 'g' }, ['g']],
    [{ toolChoice: { type: 'none' } }, 'none', ['f', 'g']],
  ])('tools for %j', (request, choice, names) => {
    const body = bodyFor({ request, prompt: { tools: [tool('f'), tool('g')] } })
    expect(body.tool_choice).toEqual(choice)
    expect(body.tools).toEqual(
      names.map((name) => ({ type: 'function', name, parameters: { type: 'object', properties: {} }, strict: false })),
    )
  })

  test('the request is counted by what its prompt depends on', () => {
    const written = writtenFor({ request: { sampling: { temperature: 1 } }, prompt: { tools: [tool('f')] } })
    expect(Object.keys(countableResponse(written))).toEqual(['model', 'input', 'tools', 'tool_choice'])
  })
})

describe('the items of a conversation', () => {
  test('the items of a conversation are in the order of the parts', () => {
    const failed: Message = { role: 'tool', toolCallId: 'c1', content: [text('no'), image('aa')], isError: true }
    const turn = assistant(text('One.'), refusal('No.'), call('c1', 'f', ''), text('Two.'))
    expect(inputFor([{ role: 'developer', content: [text('Be kind.')] }, say('a'), turn, failed])).toEqual([
      { type: 'message', role: 'developer', content: 'Be kind.' },
      { type: 'message', role: 'user', content: 'a' },
      {
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'One.', annotations: [] },
          { type: 'refusal', refusal: 'No.' },
        ],
      },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Two.', annotations: [] }] },
      {
        type: 'function_call_output',
        call_id: 'c1',
        output: [
          { type: 'input_text', text: 'no' },
          { type: 'input_image', image_url: 'data:image/png;base64,aa', detail: 'auto' },
        ],
      },
    ])
  })

  test('the items of a conversation have reasoning as the server made it; other reasoning goes to servers that read it', () => {
    const thought = 'thought:{"id":"rs_1","isSummary":false,"encrypted":"e"}'
    const turn = assistant({ ...reasoning('hm'), opaque: thought }, { ...reasoning('x'), opaque: 'signature:s' }, reasoning('y'))
    const own = {
      type: 'reasoning',
      id: 'rs_1',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'hm' }],
      encrypted_content: 'e',
    }
    expect(inputFor([turn])).toEqual([own])
    const others = ['x', 'y'].map((words) => ({
      type: 'reasoning',
      summary: [],
      content: [{ type: 'reasoning_text', text: words }],
    }))
    expect(inputFor([turn], 'vllm')).toEqual([own, ...others])
  })

  test('the items of a conversation have documents with their name', () => {
    const pdf = { type: 'media', kind: 'file', filename: 'a.pdf', source: bytes('JV', 'application/pdf') } as const
    expect(inputFor([{ role: 'user', content: [pdf] }])).toEqual([
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JV' }],
      },
    ])
  })
})
