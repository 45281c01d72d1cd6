import { again, chat, streamed } from '../probe/asks.ts'
import type { Exchange, Server } from '../probe/exchange.ts'
import { at, chatContent, chatText, listAt, numberAt, partsOf, textAt, usageIn } from '../probe/read.ts'
import { answered, moderate, noText, rowsOf, severe, short, slight, unproven, type Verdict } from '../probe/row.ts'

const drawn = (server: Pick<Server, 'model'>, seed: number) => chat(server, { temperature: 1, seed })
/** That four draws are the same by chance is then less likely than one in a hundred. */
const mostLikely = 0.2
const asked = { logprobs: true, top_logprobs: 3 }

/** The entries of a choice: one for each token. */
const entriesOf = (reply: Exchange) =>
  reply.events.length > 0
    ? partsOf(reply).flatMap((part) => listAt(part, 'choices.0.logprobs.content'))
    : listAt(reply.json, 'choices.0.logprobs.content')

const ofEntries = (judge: (entries: readonly unknown[], reply: Exchange) => Verdict | string | undefined, isStream = false) =>
  answered((server) => (isStream ? streamed(server, asked) : chat(server, asked)), { isOptional: true })(([reply]) => {
    const entries = entriesOf(reply)
    return entries.length === 0 ? 'the reply has none' : judge(entries, reply)
  })

const isBelowZero = (value: unknown) => typeof value === 'number' && value <= 0.0001

/** Text that ended by a stop token, or whose parser took something off, has fewer characters than its tokens. */
function faultOfTexts(entries: readonly unknown[], reply: Exchange): string | undefined {
  const joined = entries.map((entry) => textAt(entry, 'token') ?? '').join('')
  const text = chatText(reply)
  const plain = (value: string) => value.replace(/<[^>]*>|\ufffd|\s/g, '')
  return plain(joined).includes(plain(text).slice(0, 60))
    ? undefined
    : `the tokens are ${JSON.stringify(short(joined))}, and the text is ${JSON.stringify(short(text))}`
}

function faultOfRepeat(replies: readonly Exchange[]): Verdict | string | undefined {
  const [one = '', two = ''] = replies.map(chatText)
  if (one === '' && two === '') return noText
  return one === two ? undefined : `${JSON.stringify(short(one))}, then ${JSON.stringify(short(two))}`
}

export const samplingRows = rowsOf('sampling', {
  greedy: [
    slight('With temperature 0, the same request gives the same text.', 'tests, and caches of replies'),
    answered((server) => [chat(server), again(chat(server))])(faultOfRepeat),
  ],
  seed: [
    moderate('With the same seed, the same request gives the same text.', 'tests, and evaluations'),
    answered((server) => [drawn(server, 7), again(drawn(server, 7))], { isOptional: true })(faultOfRepeat),
  ],
  'other-seeds': [
    moderate('Other seeds give other texts, at a temperature above 0.', 'everyone who wants variety'),
    answered((server) => [chat(server, asked), ...[7, 8, 9, 10].map((seed) => drawn(server, seed))], { isOptional: true })(
      ([greedy, ...replies]) => {
        const texts = new Set(replies.map(chatText))
        if (texts.size > 1) return undefined
        if (texts.has('')) return noText
        const likelihood = Math.exp(entriesOf(greedy).reduce<number>((sum, entry) => sum + (numberAt(entry, 'logprob') ?? 0), 0))
        if (likelihood > mostLikely) return unproven('the model is too certain of its answer')
        return `four seeds give ${JSON.stringify(short(replies[0] === undefined ? '' : chatText(replies[0])))}`
      },
    ),
  ],
  logprobs: [
    severe('With `logprobs`, each token has a log-probability of at most 0.', 'evaluations, which compute with them'),
    ofEntries((entries) => {
      const odd = entries.find((entry) => typeof at(entry, 'token') !== 'string' || !isBelowZero(at(entry, 'logprob')))
      return odd === undefined ? undefined : `an entry is ${short(JSON.stringify(odd))}`
    }),
  ],
  'top-logprobs': [
    moderate('`top_logprobs: 3` gives three tokens for each position, the most probable first.', 'evaluations'),
    ofEntries((entries) => {
      const odd = entries.find((entry) => {
        const tops = listAt(entry, 'top_logprobs').map((top) => numberAt(top, 'logprob') ?? 1)
        return tops.length !== 3 || tops.some((value, index) => value > (tops[index - 1] ?? 0) + 0.0001)
      })
      return odd === undefined ? undefined : `an entry has ${short(JSON.stringify(at(odd, 'top_logprobs')))}`
    }),
  ],
  'logprobs-text': [
    moderate('The tokens with log-probabilities are those of the text.', 'evaluations'),
    ofEntries((entries, reply) => (chatText(reply) === '' ? unproven('the text is empty') : faultOfTexts(entries, reply))),
  ],
  'logprobs-count': [
    moderate('Each generated token has one entry.', 'evaluations, which add them up'),
    ofEntries((entries, reply) => {
      const count = usageIn(reply).output
      // The end of the turn may be counted, and thoughts may be apart.
      return count === undefined || Math.abs(entries.length - count) <= 1
        ? undefined
        : `there are ${entries.length}, and ${count} tokens are counted`
    }),
  ],
  'logprobs-streamed': [
    moderate('In a stream, the chunks have the log-probabilities of their text.', 'evaluations'),
    ofEntries(
      (entries, reply) => (chatContent(reply) === '' ? unproven('the text is empty') : faultOfTexts(entries, reply)),
      true,
    ),
  ],
  'logprobs-unasked': [
    slight('Without `logprobs`, there are none.', 'those who pay for traffic'),
    answered((server) => chat(server))((replies) => (entriesOf(replies[0]).length > 0 ? 'the reply has them' : undefined)),
  ],
})
