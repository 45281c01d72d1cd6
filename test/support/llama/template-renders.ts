import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'

type Context = { readonly [key: string]: unknown }

/** Where the recorded hashes of Python's renders are. */
export const recordedRenders = new URL('../../../src/jinja/__fixtures__/llama-templates.json', import.meta.url)

const say = (role: string, content: unknown, more: Context = {}) => ({ role, content, ...more })
const called = (name: string, values: unknown, id = 'call00001') => ({
  id,
  type: 'function',
  function: { name, arguments: values },
})
const result = (content: string, id = 'call00001') => say('tool', content, { tool_call_id: id, name: 'read_tide' })
const hello = say('user', 'Which way does the ferry go?')
const tide = {
  type: 'function',
  function: {
    name: 'read_tide',
    description: 'The tide at a harbour.',
    parameters: {
      type: 'object',
      properties: {
        harbour: { type: 'string', description: 'Its name.', enum: ['Dover', 'Brest'] },
        hours: { type: 'integer', description: 'Hours from now.', default: 2 },
        where: { type: 'object', description: 'A place.', properties: { lat: { type: 'number', description: 'Degrees.' } } },
      },
      required: ['harbour'],
    },
  },
}
const bell = {
  type: 'function',
  function: { name: 'ring_bell', description: 'Rings.', parameters: { type: 'object', properties: {} } },
}
const nested = { harbour: 'Brest "Port"', hours: 3, where: { lat: 48.5, exact: true, note: null }, tags: ['a', 'é'] }
const history = [hello, say('assistant', '', { tool_calls: [called('read_tide', nested)] }), result('high')]

/** Conversations of our own, with what a caller may set. */
const conversations: readonly Context[] = [
  { messages: [hello] },
  { messages: [say('system', 'You know harbours.'), hello] },
  { messages: [hello, say('assistant', 'North.'), say('user', 'And then?'), say('assistant', 'West.'), say('user', 'Thanks.')] },
  { messages: [hello], add_generation_prompt: false },
  { messages: [hello, say('assistant', ' North, \n\nthen "west". ')], add_generation_prompt: false },
  { messages: [say('user', '  <b>é 東京 😀</b> & {{ x }} {% y %} \\n\t\n')] },
  {
    messages: [
      say('user', [
        { type: 'text', text: 'One.' },
        { type: 'text', text: 'Two.' },
      ]),
    ],
  },
  { messages: [hello], tools: [tide, bell] },
  { messages: [say('system', 'Be brief.'), hello], tools: [tide] },
  { messages: history, tools: [tide] },
  { messages: [...history, say('assistant', 'It is high.'), say('user', 'Good.')], tools: [tide, bell] },
  {
    messages: [
      hello,
      say('assistant', 'Both.', {
        tool_calls: [called('read_tide', { harbour: 'Dover' }), called('ring_bell', {}, 'call00002')],
      }),
      result('low'),
      result('rung', 'call00002'),
    ],
    tools: [tide, bell],
  },
  { messages: [hello, say('assistant', 'North.', { reasoning_content: 'They want\na way.' }), say('user', 'Why?')] },
  {
    messages: [
      hello,
      say('assistant', '', { reasoning_content: 'I look.', tool_calls: [called('read_tide', { harbour: 'Dover' })] }),
      result('low'),
    ],
    tools: [tide],
  },
  { messages: [hello, say('assistant', '<think>\nHm.\n</think>\n\nNorth.'), say('user', 'Why?')] },
  { messages: [hello], enable_thinking: false, thinking: false },
  { messages: [hello], enable_thinking: true, thinking: true, reasoning_effort: 'high' },
  { messages: [hello, say('system', 'Late.'), say('user', 'Again.')] },
  { messages: [say('user', 'One.'), say('user', 'Two.')] },
  { messages: [say('system', 'Only this.')] },
]

/** The contexts that templates are rendered with, complete. */
export const contexts: readonly Context[] = conversations.map((context) => ({
  bos_token: '<bos>',
  eos_token: '<eos>',
  add_generation_prompt: true,
  ...context,
}))

/** The clock of the renders. */
export const renderedAt = () => new Date(2025, 6, 26, 12, 34, 56)

/** What is recorded of a text: not the text itself, which is its template's author's. */
export function hashOf(text: string | null | undefined): string {
  return text === null || text === undefined ? '-' : createHash('sha256').update(text).digest('base64url').slice(0, 10)
}

/** The record of these templates and their renders. */
export function recordOf(
  templates: ReadonlyMap<string, string>,
  texts: { readonly [name: string]: readonly (string | null)[] },
): string {
  const rows = [...templates]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, source]) => [name, [hashOf(source), ...(texts[name] ?? []).map(hashOf)].join(' ')])
  return `${JSON.stringify(Object.fromEntries(rows), null, 2)}\n`
}

/** Python's texts by template, null for those that it refuses; or why there are none. */
export function renderWithPython(
  templates: ReadonlyMap<string, string>,
): { readonly [name: string]: readonly (string | null)[] } | string {
  const script = fileURLToPath(new URL('render_templates.py', import.meta.url))
  const input = JSON.stringify({ templates: Object.fromEntries(templates), contexts })
  const { status, stdout, stderr, error } = spawnSync('python3', [script], { input, encoding: 'utf8', maxBuffer: 1 << 28 })
  if (error !== undefined) return `no python3: ${error.message}`
  if (status !== 0) return `python3 has no jinja2: ${stderr.trim().split('\n').at(-1)}`
  return JSON.parse(stdout)
}
