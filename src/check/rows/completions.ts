import type { Ask, Server } from '../probe/exchange.ts'
import { completion, faultOf } from '../probe/forms.ts'
import { at, joined, listAt, partsOf, textAt, usageIn } from '../probe/read.ts'
import { answered, moderate, rowsOf, sameText, severe, unproven } from '../probe/row.ts'

export const completionBase = ({ model }: Pick<Server, 'model'>, more: object = {}): Ask => ({
  path: '/v1/completions',
  body: { model, prompt: 'Once upon a time, in a small town by the sea,', max_tokens: 16, temperature: 0, ...more },
})

const streamed = (server: Server) => completionBase(server, { stream: true, stream_options: { include_usage: true } })
const optional = { isOptional: true }

export const completionRows = rowsOf('completions', {
  form: [
    severe('A completion has an id, choices with a text and a finish reason, and usage.', 'older SDKs and base models'),
    answered((server) => completionBase(server))(([reply]) => faultOf(completion, reply.json)),
  ],
  limit: [
    severe('`max_tokens` limits the output.', 'code completion in editors'),
    answered((server) => completionBase(server, { max_tokens: 3 }))(([reply]) =>
      (usageIn(reply).output ?? 0) <= 3 ? undefined : `${usageIn(reply).output} tokens were generated, and the limit is 3`,
    ),
  ],
  stream: [
    severe('A stream has the text of a whole reply, and ends with `[DONE]`.', 'code completion in editors'),
    answered((server) => [completionBase(server), streamed(server)])(([whole, stream]) => {
      if (stream === undefined || stream.events.at(-1)?.data !== '[DONE]') return 'the stream does not end with [DONE]'
      const [wanted, found] = [textAt(whole.json, 'choices.0.text'), joined(stream, 'choices.0.text')]
      if (partsOf(stream).some((part) => at(part, 'object') !== 'text_completion')) return 'a chunk is not a text_completion'
      return sameText(wanted ?? '', found)
    }),
  ],
  prompts: [
    moderate('Several prompts give a choice for each, in order.', 'evaluations'),
    answered(
      (server) => completionBase(server, { prompt: ['One, two,', 'Red, green,'], max_tokens: 4 }),
      optional,
    )(([reply]) => {
      const indices = listAt(reply.json, 'choices').map((choice) => at(choice, 'index'))
      return indices.join() === '0,1' ? undefined : `the indices of the choices are ${indices.join(', ')}`
    }),
  ],
  echo: [
    moderate('With `echo`, the text begins with the prompt.', 'evaluations'),
    answered(
      (server) => completionBase(server, { echo: true, max_tokens: 2 }),
      optional,
    )(([reply]) =>
      (textAt(reply.json, 'choices.0.text') ?? '').includes('Once upon a time') ? undefined : 'the prompt is not in the text',
    ),
  ],
  logprobs: [
    moderate('`logprobs` gives lists of the same length: tokens, log-probabilities, offsets.', 'evaluations'),
    answered(
      (server) => completionBase(server, { logprobs: 2 }),
      optional,
    )(([reply]) => {
      const lengths = ['tokens', 'token_logprobs', 'text_offset'].map(
        (name) => listAt(reply.json, `choices.0.logprobs.${name}`).length,
      )
      if (lengths[0] === 0 && at(reply.json, 'choices.0.logprobs.content') !== undefined)
        return 'they have the form of a chat completion'
      return lengths[0] !== 0 && new Set(lengths).size === 1 ? undefined : `the lengths are ${lengths.join(', ')}`
    }),
  ],
  stop: [
    severe('A stop sequence is not part of the text.', 'code completion in editors'),
    function* (server) {
      const free = yield completionBase(server)
      const word = /\s([a-z]{3,})\s/.exec(textAt(free.json, 'choices.0.text') ?? '')?.[1]
      if (word === undefined) return unproven('the model writes too little to stop it')
      const reply = yield completionBase(server, { stop: [word] })
      const text = textAt(reply.json, 'choices.0.text') ?? ''
      return text.includes(word) ? { outcome: 'finding', why: `the text has the stop sequence ${word}` } : { outcome: 'holds' }
    },
  ],
})
