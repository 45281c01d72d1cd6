import { z } from 'zod'
import { isObject, parseJson } from '../../base/json.ts'
import { again, chat, user, withTools } from '../probe/asks.ts'
import type { Exchange, Server } from '../probe/exchange.ts'
import { at, type Call, callsOf, chatContent, finishOf, listAt, partsOf } from '../probe/read.ts'
import { answered, moderate, type Row, rowsOf, severe, short, unproven, type Verdict } from '../probe/row.ts'

const named = { tool_choice: { type: 'function', function: { name: 'get_weather' } } }
const required = { tool_choice: 'required' }
const weather = z.strictObject({ city: z.enum(['Oslo', 'Paris']), unit: z.enum(['celsius', 'fahrenheit']) })

/** What is wrong with a call of the declared tools. */
function faultOfCall({ id, name, arguments: text }: Call): string | undefined {
  if (name !== 'get_weather' && name !== 'get_time') return `a call is of ${JSON.stringify(name)}, which is not declared`
  if (id === undefined || id === '') return `the call of ${name} has no id`
  if (!isObject(parseJson(text))) return `the arguments of ${name} are ${JSON.stringify(short(text))}`
  return undefined
}

/** Calls that are required: each is of a declared tool, and has JSON. */
const called = (more: object, judge: (calls: readonly [Call, ...Call[]], reply: Exchange) => Verdict | string | undefined) =>
  answered((server) => withTools(server, more), { isOptional: true })(([reply]) => {
    const calls = callsOf(reply)
    const [first, ...others] = calls
    if (first === undefined) {
      if (finishOf(reply) === 'length') return unproven('the limit of tokens came before the call')
      return `there is no call: ${short(chatContent(reply) || reply.text)}`
    }
    return calls.map(faultOfCall).find((fault) => fault !== undefined) ?? judge([first, ...others], reply)
  })

const inStream = { stream: true, stream_options: { include_usage: true } }
const anything = () => undefined

/** In a stream, the pieces of a call have its index, and the first has its id and its name. */
const faultOfDeltas: (stream: Exchange) => string | undefined = (stream) => {
  const deltas = partsOf(stream).flatMap((part) => listAt(part, 'choices.0.delta.tool_calls'))
  const known = new Set<unknown>()
  for (const delta of deltas) {
    const index = at(delta, 'index')
    if (!known.has(index) && (typeof at(delta, 'id') !== 'string' || typeof at(delta, 'function.name') !== 'string'))
      return `the first piece of call ${index} is ${short(JSON.stringify(delta))}`
    if (known.has(index) && at(delta, 'function.name')) return `call ${index} has its name twice`
    known.add(index)
  }
  return undefined
}

const same: (one: Exchange, two: Exchange | undefined) => Verdict | string | undefined = (one, two) => {
  const [ids, others] = [one, two].map((reply) => (reply === undefined ? [] : callsOf(reply).map(({ id }) => id)))
  if (!ids?.length || !others?.length) return unproven('there is no call')
  return ids.some((id) => others.includes(id)) ? `two replies have a call with the id ${ids[0]}` : undefined
}

const refused = (more: object): Row['steps'] =>
  function* (server: Server) {
    const { status } = yield withTools(server, more)
    if (status >= 500) return { outcome: 'finding', why: `the server answers ${status}` }
    return status >= 400 ? { outcome: 'holds' } : { outcome: 'finding', why: 'it is accepted' }
  }

export const toolRows = rowsOf('tools', {
  required: [
    severe('With `tool_choice: required`, the model calls a declared tool with JSON.', 'agents'),
    called(required, anything),
  ],
  named: [
    severe(
      'A `tool_choice` that names a function makes the model call it.',
      'structured output through tools, as in LangChain and Instructor',
    ),
    called(named, ([{ name }]) => (name === 'get_weather' ? undefined : `the call is of ${name}`)),
  ],
  arguments: [
    severe('The arguments of a required call have the form of its schema.', 'agents, whose tools fail'),
    called(named, ([{ arguments: text }]) =>
      weather.safeParse(parseJson(text)).success ? undefined : `the arguments are ${short(text)}`,
    ),
  ],
  finish: [
    moderate(
      'The finish reason of a call is `tool_calls`; `stop` where the request names the function.',
      'agents that look at it to go on',
    ),
    called(required, (_, reply) =>
      finishOf(reply) === 'tool_calls' || finishOf(reply) === 'stop' ? undefined : `it is ${finishOf(reply)}`,
    ),
  ],
  'finish-streamed': [
    severe('In a stream with calls, the finish reason is `tool_calls`.', 'agents that look at it to go on'),
    called({ ...required, ...inStream }, (_, reply) =>
      finishOf(reply) === 'tool_calls' ? undefined : `it is ${finishOf(reply)}`,
    ),
  ],
  none: [
    severe('With `tool_choice: none`, there is no call.', 'agents that ask for a summary'),
    answered((server) => withTools(server, { tool_choice: 'none', max_tokens: 60 }), { isOptional: true })(([reply]) => {
      const [call] = callsOf(reply)
      if (call !== undefined) return `the model calls ${call.name}`
      return /<tool_call>|\[TOOL_CALLS\]|<\|python_tag\|>/.test(chatContent(reply))
        ? `the text is ${short(chatContent(reply))}`
        : undefined
    }),
  ],
  streamed: [
    severe('A streamed call has JSON when its pieces are joined.', 'agents'),
    called({ ...required, ...inStream }, anything),
  ],
  deltas: [
    severe('The first piece of a call has its index, its id and its name; later ones have its arguments.', 'agents'),
    called({ ...required, ...inStream }, (_, stream) => faultOfDeltas(stream)),
  ],
  'no-text': [
    moderate('A call does not appear as text as well.', 'users, who see markup'),
    called(required, ([{ name }], reply) =>
      chatContent(reply).includes(`"${name}"`) ? `the text is ${short(chatContent(reply))}` : undefined,
    ),
  ],
  ids: [
    severe('Each call has an id that no other has.', 'agents, which match results by id'),
    answered((server) => [withTools(server, required), again(withTools(server, required))], { isOptional: true })(([one, two]) =>
      same(one, two),
    ),
  ],
  single: [
    moderate('With `parallel_tool_calls: false`, there is one call.', 'agents that take one step at a time'),
    called({ ...required, parallel_tool_calls: false }, (calls) =>
      calls.length === 1 ? undefined : `there are ${calls.length}`,
    ),
  ],
  read: [
    severe('The model reads the tools.', 'agents'),
    answered(
      (server) => [
        chat(server, { messages: [user('What is the weather in Oslo, in celsius?')] }),
        withTools(server, { tool_choice: 'auto', max_tokens: 60 }),
      ],
      { isOptional: true },
    )(([plain, tooled]) => {
      const [few, many] = [plain, tooled].map((reply) => at(reply?.json, 'usage.prompt_tokens'))
      if (typeof few !== 'number' || typeof many !== 'number') return unproven('the reply has no count of the prompt')
      return many >= few + 20 ? undefined : `the prompt has ${few} tokens without tools and ${many} with them`
    }),
  ],
  unknown: [
    moderate('A `tool_choice` that names a function which is not declared is refused.', 'developers with a spelling mistake'),
    refused({ tool_choice: { type: 'function', function: { name: 'get_wether' } } }),
  ],
})
