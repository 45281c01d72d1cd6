import { again, chat, endless, question, user, words } from '../probe/asks.ts'
import type { Exchange } from '../probe/exchange.ts'
import { chat as chatForm, faultOf, models } from '../probe/forms.ts'
import { at, chatText, listAt, numberAt, textAt, usageIn } from '../probe/read.ts'
import { answered, moderate, readsMore, rowsOf, severe, slight } from '../probe/row.ts'

const called = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
}
const afterTool = (result: string) => ({
  messages: [user('Look.'), called, { role: 'tool', tool_call_id: 'call_1', content: result }],
})
const asDeveloper = (content: string) => ({ messages: [{ role: 'developer', content }, user('Hello.')] })
const afterTurn = (content: string) => ({ messages: [user('One.'), { role: 'assistant', content }, user('Three.')] })
const textPart = (text: string) => ({ type: 'text', text })
const twentyWords = words(20)

export const modelRows = rowsOf('models', {
  list: [
    severe('`GET /v1/models` lists the models, each with its id.', 'every program with a menu of models'),
    answered(() => ({ path: '/v1/models' }))(([reply]) => faultOf(models, reply.json)),
  ],
  one: [
    slight('`GET /v1/models/ID` describes one model of the list.', 'clients that check their model first'),
    answered(({ model }) => ({ path: `/v1/models/${encodeURIComponent(model)}` }))(([reply], { model }) =>
      at(reply.json, 'id') === model ? undefined : `the id is ${JSON.stringify(at(reply.json, 'id'))}`,
    ),
  ],
})

export const chatRows = rowsOf('chat', {
  form: [
    severe('A chat completion has an id, choices with a message and a finish reason, and usage.', 'every typed SDK'),
    answered((server) => chat(server))(([reply]) => faultOf(chatForm, reply.json)),
  ],
  text: [
    severe('The message has what the model wrote.', 'every user'),
    answered((server) => chat(server))(([reply]) => {
      const generated = usageIn(reply).output
      return chatText(reply) === '' && generated !== undefined && generated > 1
        ? `${generated} tokens were generated, and the message is empty`
        : undefined
    }),
  ],
  'content-type': [
    moderate('A reply that is not streamed is `application/json`.', 'clients that look before they parse'),
    answered((server) => chat(server))(([{ headers }]) =>
      headers['content-type']?.includes('application/json') ? undefined : `it is ${headers['content-type']}`,
    ),
  ],
  ids: [
    moderate('Each completion has an id of its own.', 'logs, traces and stores of replies'),
    answered((server) => [chat(server), again(chat(server))])(([one, two]) => {
      const id = textAt(one.json, 'id')
      return id !== undefined && id === textAt(two?.json, 'id') ? `two completions have the id ${id}` : undefined
    }),
  ],
  parts: [
    severe('A content of one text part means the same as the text.', 'agents and SDKs that send parts'),
    answered((server) => [chat(server), chat(server, { messages: [user([{ type: 'text', text: question }])] })])(
      ([plain, parts]) => {
        const [wanted, found] = [usageIn(plain).input, parts && usageIn(parts).input]
        return wanted === found ? undefined : `the prompt has ${wanted} tokens as a text and ${found} as a part`
      },
    ),
  ],
  'all-parts': [
    severe('Each part of a message is read.', 'editors, whose files are parts'),
    readsMore(
      chat,
      [{ messages: [user([textPart('One.')])] }, { messages: [user([textPart('One.'), textPart(twentyWords)])] }],
      15,
    ),
  ],
  system: [
    severe('The system message is read.', 'every application with instructions'),
    // A template may have a system message of its own, which this one replaces.
    readsMore(chat, [{ messages: [user('Hello.')] }, { messages: [{ role: 'system', content: words(60) }, user('Hello.')] }], 20),
  ],
  developer: [
    moderate('A `developer` message is read as a system message.', 'Codex and newer OpenAI SDKs'),
    readsMore(chat, [asDeveloper('Brief.'), asDeveloper(twentyWords)], 15),
  ],
  'tool-results': [
    severe('The result of a tool is read, also after a message without content.', 'every agent'),
    readsMore(chat, [afterTool('One.'), afterTool(twentyWords)], 15),
  ],
  history: [
    severe('Earlier turns of the conversation are read.', 'every conversation'),
    readsMore(chat, [afterTurn('Two.'), afterTurn(twentyWords)], 15),
  ],
  'known-fields': [
    moderate('Fields of the protocol that change nothing are accepted.', 'SDKs and gateways that send them by default'),
    answered((server) =>
      chat(server, {
        user: 'a-user',
        metadata: { run: 'one' },
        store: false,
        parallel_tool_calls: true,
        top_p: 1,
        frequency_penalty: 0,
      }),
    )(() => undefined),
  ],
  cached: [
    slight('`cached_tokens` is part of the tokens of the prompt.', 'those who compute costs'),
    answered((server) => chat(server))(([reply]) => {
      const [cached, input] = [numberAt(reply.json, 'usage.prompt_tokens_details.cached_tokens'), usageIn(reply).input]
      return cached !== undefined && input !== undefined && cached > input ? `${cached} of ${input} tokens are cached` : undefined
    }),
  ],
  n: [
    moderate('`n: 2` gives two choices, with the indices 0 and 1.', 'evaluations that draw several answers'),
    answered((server) => chat(server, { n: 2, temperature: 1 }), { isOptional: true })(([reply]) => {
      const indices = listAt(reply.json, 'choices').map((choice) => at(choice, 'index'))
      return [...indices].sort().join() === '0,1' ? undefined : `the indices of the choices are ${indices.join(', ')}`
    }),
  ],
  'n-usage': [
    moderate('The usage of `n: 2` counts the tokens of both choices.', 'those who pay for tokens'),
    answered((server) => [chat(server, endless(server)), chat(server, { n: 2, temperature: 1, ...endless(server) })], {
      isOptional: true,
    })(([one, two]) => bothCounted(one, two)),
  ],
})

function bothCounted(one: Exchange, two: Exchange | undefined): string | undefined {
  const [single, both] = [usageIn(one).output ?? 0, (two && usageIn(two).output) ?? 0]
  const areFull =
    listAt(two?.json, 'choices').length === 2 &&
    listAt(two?.json, 'choices').every((choice) => at(choice, 'finish_reason') === 'length')
  return areFull && both <= single ? `one choice of the same limit counts ${single} tokens, and two count ${both}` : undefined
}
