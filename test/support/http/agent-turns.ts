import { png } from '../pictures.ts'
import { sealed } from '../plain-sealer.ts'

export type Json = Record<string, unknown>

/** A conversation of an agent, as plain facts that each protocol writes in its own way. */
export type Conversation = {
  readonly system: string
  readonly tools: readonly { readonly name: string; readonly description: string }[]
  /** The user's first message: texts, and an image in base64. */
  readonly question: readonly string[]
  readonly image?: string | undefined
  readonly thought?: string | undefined
  readonly callId: string
  readonly result: string
  readonly effort: string
}

const red = png([255, 0, 0]).toString('base64')
export const redAgain = png([254, 0, 0]).toString('base64')

export const plain: Conversation = {
  system: 'You are an agent.\nWorking directory: /home/ada/engine\nIt is Sunday, 29 November 2026, 12:01.\nBe brief.',
  tools: [
    { name: 'read', description: 'Reads a file.' },
    { name: 'write', description: 'Writes a file.' },
  ],
  question: ['What is in notes.txt, and what does this picture show?'],
  image: red,
  thought: 'I read the file first.',
  callId: 'call_a1',
  result: 'line one\nline two\n180000 tokens left',
  effort: 'low',
}

type Protocol = 'chat' | 'responses' | 'messages' | 'ollama'
export type Asked = { readonly path: string; readonly body: Json }

const schema = { type: 'object', properties: { path: { type: 'string' } } }
const [said, next] = ['It has two lines.', 'Thanks. Go on.']

export const write: Readonly<Record<Protocol, (of: Conversation, isLonger: boolean) => Asked>> = {
  chat: ({ system, tools, question, image, thought, callId, result, effort }, isLonger) => ({
    path: '/v1/chat/completions',
    body: {
      reasoning_effort: effort,
      tools: tools.map((tool) => ({ type: 'function', function: { ...tool, parameters: schema } })),
      messages: [
        { role: 'system', content: system },
        {
          role: 'user',
          content: [
            ...question.map((one) => ({ type: 'text', text: one })),
            ...(image === undefined ? [] : [{ type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } }]),
          ],
        },
        {
          role: 'assistant',
          content: null,
          ...(thought !== undefined && { reasoning_content: thought }),
          tool_calls: [{ id: callId, type: 'function', function: { name: 'read', arguments: '{"path":"notes.txt"}' } }],
        },
        { role: 'tool', tool_call_id: callId, content: result },
        ...(isLonger
          ? [
              { role: 'assistant', content: said },
              { role: 'user', content: next },
            ]
          : []),
      ],
    },
  }),
  responses: ({ system, tools, question, image, thought, callId, result, effort }, isLonger) => ({
    path: '/v1/responses',
    body: {
      store: false,
      reasoning: { effort },
      instructions: system,
      tools: tools.map((tool) => ({ type: 'function', ...tool, parameters: schema })),
      input: [
        {
          role: 'user',
          content: [
            ...question.map((one) => ({ type: 'input_text', text: one })),
            ...(image === undefined ? [] : [{ type: 'input_image', image_url: `data:image/png;base64,${image}` }]),
          ],
        },
        ...(thought === undefined
          ? []
          : [{ type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: thought }] }]),
        { type: 'function_call', call_id: callId, name: 'read', arguments: '{"path":"notes.txt"}' },
        { type: 'function_call_output', call_id: callId, output: result },
        ...(isLonger
          ? [
              { role: 'assistant', content: said },
              { role: 'user', content: next },
            ]
          : []),
      ],
    },
  }),
  messages: ({ system, tools, question, image, thought, callId, result, effort }, isLonger) => ({
    path: '/v1/messages',
    body: {
      max_tokens: 100,
      thinking: { type: 'adaptive' },
      output_config: { effort },
      system,
      tools: tools.map((tool) => ({ ...tool, input_schema: schema })),
      messages: [
        {
          role: 'user',
          content: [
            ...question.map((one) => ({ type: 'text', text: one })),
            ...(image === undefined ? [] : [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: image } }]),
          ],
        },
        {
          role: 'assistant',
          content: [
            ...(thought === undefined ? [] : [{ type: 'thinking', thinking: thought, signature: sealed(thought) }]),
            { type: 'tool_use', id: callId, name: 'read', input: { path: 'notes.txt' } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: callId, content: result }] },
        ...(isLonger
          ? [
              { role: 'assistant', content: said },
              { role: 'user', content: next },
            ]
          : []),
      ],
    },
  }),
  ollama: ({ system, tools, question, image, thought, callId, result, effort }, isLonger) => ({
    path: '/api/chat',
    body: {
      stream: false,
      think: effort,
      tools: tools.map((tool) => ({ type: 'function', function: { ...tool, parameters: schema } })),
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: question.join('\n'), ...(image !== undefined && { images: [image] }) },
        {
          role: 'assistant',
          content: '',
          ...(thought !== undefined && { thinking: thought }),
          tool_calls: [{ id: callId, function: { name: 'read', arguments: { path: 'notes.txt' } } }],
        },
        { role: 'tool', tool_name: 'read', tool_call_id: callId, content: result },
        ...(isLonger
          ? [
              { role: 'assistant', content: said },
              { role: 'user', content: next },
            ]
          : []),
      ],
    },
  }),
}
export const protocols = Object.keys(write) as Protocol[]
