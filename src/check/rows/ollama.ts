import { isObject } from '../../base/json.ts'
import { callTokens, question, tools, user } from '../probe/asks.ts'
import type { Ask, Exchange, Server } from '../probe/exchange.ts'
import { faultOf, ollamaChat, ollamaError, ollamaGenerated, ollamaPart, ollamaShown, ollamaTags } from '../probe/forms.ts'
import { at, joined, listAt, numberAt, partsOf, textAt } from '../probe/read.ts'
import { answered, finding, holds, moderate, rowsOf, sameText, severe, short, unproven, type Verdict } from '../probe/row.ts'

const options = { num_predict: 24, temperature: 0 }
export const ollamaBase = ({ model }: Pick<Server, 'model'>, more: object = {}): Ask => ({
  path: '/api/chat',
  body: { model, messages: [user(question)], stream: false, options, ...more },
})
const optional = { isOptional: true }

const ofStream = (judge: (parts: readonly unknown[], stream: Exchange) => Verdict | string | undefined) =>
  answered(
    // Ollama streams unless it is asked not to.
    (server) => ollamaBase(server, { stream: undefined }),
  )(([stream]) =>
    stream.events.length === 0
      ? `the reply is not a stream of lines: ${stream.headers['content-type']}`
      : judge(partsOf(stream), stream),
  )

const pathAnswers = (
  path: string,
  body: ((server: Server) => object) | undefined,
  judge: (reply: Exchange, server: Server) => string | undefined,
) =>
  answered((server) => ({ path, ...(body !== undefined && { body: body(server) }) }))(([reply], server) => judge(reply, server))

export const ollamaRows = rowsOf('ollama', {
  form: [
    severe('A reply has a message, its reason to end, and counts.', 'clients of Ollama'),
    answered((server) => ollamaBase(server))(([reply]) => faultOf(ollamaChat, reply.json)),
  ],
  version: [
    moderate('`/api/version` has a version of three numbers.', 'clients that look for features'),
    pathAnswers('/api/version', undefined, ({ json }) =>
      /^\d+\.\d+\.\d+/.test(textAt(json, 'version') ?? '') ? undefined : `it is ${JSON.stringify(json)}`,
    ),
  ],
  tags: [
    severe('`/api/tags` lists the models, with size and digest.', 'every menu of models'),
    pathAnswers('/api/tags', undefined, ({ json }) => faultOf(ollamaTags, json)),
  ],
  show: [
    moderate('`/api/show` has the details and capabilities of a model.', 'editors, which ask whether it calls tools'),
    pathAnswers(
      '/api/show',
      ({ model }) => ({ model }),
      ({ json }) => faultOf(ollamaShown, json),
    ),
  ],
  lines: [
    severe('A stream is one JSON value on each line.', 'clients of Ollama'),
    ofStream((parts) => parts.map((part) => faultOf(ollamaPart, part)).find((fault) => fault !== undefined)),
  ],
  done: [
    severe('The last line, and only it, is `done`, with the counts.', 'clients of Ollama'),
    ofStream((parts) => {
      const done = parts.filter((part) => at(part, 'done') === true).length
      return done === 1 && at(parts.at(-1), 'done') === true
        ? faultOf(ollamaChat, parts.at(-1))
        : `${done} lines are done, and the last is ${short(JSON.stringify(parts.at(-1)))}`
    }),
  ],
  'same-text': [
    severe('A stream has the text that a whole reply has.', 'every user'),
    answered((server) => [ollamaBase(server), ollamaBase(server, { stream: undefined })])(([whole, stream]) => {
      return sameText(textAt(whole.json, 'message.content') ?? '', stream === undefined ? '' : joined(stream, 'message.content'))
    }),
  ],
  limit: [
    severe('`num_predict` limits the output, and a truncated reply says `length`.', 'those who parse'),
    answered((server) => ollamaBase(server, { options: { ...options, num_predict: 5 } }))(([{ json }]) => {
      const count = numberAt(json, 'eval_count') ?? 0
      if (count > 5) return `${count} tokens were generated, and the limit is 5`
      if (count < 5) return unproven('the model writes less than the limit')
      return at(json, 'done_reason') === 'length' ? undefined : `the reason is ${at(json, 'done_reason')}`
    }),
  ],
  format: [
    severe('With a schema as `format`, the text is JSON that it allows.', 'programs that parse replies'),
    answered(
      (server) =>
        ollamaBase(server, {
          options: { ...options, num_predict: callTokens },
          format: { type: 'object', properties: { zq: { type: 'string', enum: ['ÿ-1'] } }, required: ['zq'] },
        }),
      optional,
    )(([{ json }]) =>
      /"zq"\s*:\s*"ÿ-1"/.test(textAt(json, 'message.content') ?? '') || at(json, 'done_reason') === 'length'
        ? undefined
        : `the text is ${short(textAt(json, 'message.content') ?? '')}`,
    ),
  ],
  calls: [
    moderate('The arguments of a call are an object.', 'clients of Ollama that use tools'),
    answered(
      (server) =>
        ollamaBase(server, {
          tools,
          messages: [user('What is the weather in Oslo, in celsius?')],
          options: { ...options, num_predict: callTokens },
        }),
      optional,
    )(([{ json }]) => {
      const [call] = listAt(json, 'message.tool_calls')
      if (call === undefined) return unproven('the model does not call')
      return isObject(at(call, 'function.arguments'))
        ? undefined
        : `they are ${short(JSON.stringify(at(call, 'function.arguments')))}`
    }),
  ],
  generate: [
    severe('`/api/generate` answers a prompt.', 'code completion in editors'),
    pathAnswers(
      '/api/generate',
      ({ model }) => ({ model, prompt: question, stream: false, options }),
      ({ json }) => faultOf(ollamaGenerated, json),
    ),
  ],
  errors: [
    moderate('Errors are `{"error": "…"}`; a model that is not there is 404.', 'clients of Ollama, which then offer to fetch it'),
    function* () {
      const reply = yield ollamaBase({ model: 'no-such-model-anywhere' })
      if (reply.status !== 404) return finding(`the status is ${reply.status}`)
      const fault = faultOf(ollamaError, reply.json)
      return fault === undefined ? holds : finding(`${fault}: ${short(reply.text)}`)
    },
  ],
})
