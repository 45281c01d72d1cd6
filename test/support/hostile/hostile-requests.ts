import { type GenerationRequest, type JsonObject, type Prompt, plainChat } from '../../../src/contract/request.ts'
import { type LeafPath, leavesOf, withLeaves } from '../string-leaves.ts'

type Chat = Extract<Prompt, { type: 'chat' }>
export type ChatRequest = { readonly prompt: Chat } & Pick<GenerationRequest, 'reasoning'>

const text = (words: string) => [{ type: 'text', text: words }] as const

/** A conversation with a string in every field that has one. */
export const fullRequest: ChatRequest = {
  reasoning: { enabled: true, effort: 'effort', preserve: true },
  prompt: {
    type: 'chat',
    ...plainChat,
    messages: [
      { role: 'system', content: [...text('system'), ...text('more')], name: 'sysname' },
      { role: 'developer', content: text('developer') },
      { role: 'user', content: text('user'), name: 'username' },
      {
        role: 'assistant',
        name: 'botname',
        parts: [
          { type: 'reasoning', text: 'thought' },
          { type: 'text', text: 'reply' },
          { type: 'tool-call', id: 'call-1', name: 'find', input: '{"key":"value","list":["item",{"deep":"end"}]}' },
          { type: 'tool-call', id: 'call-2', name: 'find', input: 'not JSON' },
        ],
      },
      { role: 'tool', toolCallId: 'call-1', name: 'toolname', content: text('result') },
      { role: 'tool', toolCallId: 'stray', content: text('stray result') },
      { role: 'user', content: text('again') },
      { role: 'assistant', parts: [{ type: 'reasoning', text: 'last thought' }, ...text('last reply')] },
    ],
    tools: [
      {
        name: 'find',
        description: 'finds',
        parameters: {
          type: 'object',
          title: 'title',
          properties: { key: { type: 'string', description: 'what', enum: ['one', 'two'], default: 'one' } },
          required: ['key'],
        },
      },
    ],
    templateVariables: {
      documents: [{ title: 'doc title', text: 'doc text' }],
      custom: 'custom',
      nested: { inner: ['deepest'] },
      date_string: 'today',
    },
    responsePrefix: 'prefix',
  },
}

/** Closed sets of words, which decide how a request is read. */
const words = new Set(['type', 'role', 'start'])

export type Attack = {
  readonly name: string
  readonly request: ChatRequest
  readonly clean: ChatRequest
  readonly texts: readonly string[]
}

/** One token's text at each leaf: whole, escaped, and split between a leaf and the next. The twin has harmless words instead. */
export function attacksWith(token: string, base: ChatRequest = fullRequest): Attack[] {
  const leaves = leavesOf(base, (name) => !words.has(String(name)))
  const middle = Math.floor(token.length / 2)
  return leaves.flatMap((leaf, index) => {
    const next = leaves[index + 1]
    const forms = attackForms(token, leaf)
    const whole = forms.map((form): Attack => attackAt(base, [[leaf, form]]))
    if (next === undefined) return whole
    return [
      ...whole,
      attackAt(base, [
        [leaf, token.slice(0, middle)],
        [next, token.slice(middle)],
      ]),
    ]
  })
}

function attackForms(token: string, leaf: LeafPath): readonly string[] {
  const halves = [token.slice(0, -1), token.slice(1)]
  if (leaf.at(-1) !== 'input') return [token, `a${token}\n`, `${token.slice(0, 2)}${token}${token.slice(2)}`, ...halves]
  const escaped = Array.from(token, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
  const plain = JSON.stringify(token).slice(1, -1)
  return [plain, escaped, halves[0] ?? ''].flatMap((form) => [
    `{"key":"${form}"}`,
    `{"${form}":"value"}`,
    `"${form}"`,
    `{"key":[{"${form}":["${form}"]}]}`,
    form,
  ])
}

function attackAt(base: ChatRequest, replaced: readonly (readonly [LeafPath, string])[]): Attack {
  const at = ([path]: readonly [LeafPath, string]) => path.join('.')
  const harmless = replaced.map(([path, form]): readonly [LeafPath, string] => [path, harmlessLike(form)])
  return {
    name: `${replaced.map(at).join(' and ')}: ${JSON.stringify(replaced.map(([, form]) => form))}`,
    request: withLeaves(base, replaced),
    clean: withLeaves(base, harmless),
    texts: replaced.map(([, form]) => form),
  }
}

/** The same JSON structure with letters only. */
function harmlessLike(form: string): string {
  try {
    return JSON.stringify(mapWords(JSON.parse(form)))
  } catch {
    // Not JSON: a plain text.
    return 'word'
  }
}

function mapWords(value: unknown): unknown {
  if (typeof value === 'string') return 'word'
  if (Array.isArray(value)) return value.map(mapWords)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, item]) => [key === 'key' ? key : 'word', mapWords(item)]),
  )
}
