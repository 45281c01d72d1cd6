import { chat, streamed, user, usualTokens, words } from '../probe/asks.ts'
import type { Ask, Exchange, Server } from '../probe/exchange.ts'
import { at, chatContent, chatText, finishOf, listAt, usageIn } from '../probe/read.ts'
import {
  answered,
  finding,
  holds,
  messageIn,
  moderate,
  rowsOf,
  type Steps,
  severe,
  short,
  slight,
  unanswered,
  unproven,
  type Verdict,
} from '../probe/row.ts'

/** A word in the middle of what the model writes: the checks of stop sequences ask for an end before it. */
function middleWord(text: string): string | undefined {
  const found = [...text.matchAll(/[\p{L}]{3,}/gu)].slice(2)
  return found.find(([word]) => text.indexOf(word) === text.search(new RegExp(word)) && text.indexOf(word) > 5)?.[0]
}

function* stopSteps(server: Server, variant: (stop: string) => Ask): Steps {
  const free = yield chat(server)
  const problem = unanswered(free)
  if (problem !== undefined) return problem
  const text = chatContent(free)
  const stop = middleWord(text)
  if (stop === undefined) return unproven('the model writes too little to stop it')
  const reply = yield variant(stop)
  const refusal = unanswered(reply)
  if (refusal !== undefined) return refusal
  const found = chatContent(reply)
  if (found.includes(stop)) return finding(`the text has the stop sequence ${JSON.stringify(stop)}: ${short(found)}`)
  const wanted = text.slice(0, text.indexOf(stop))
  // Another draw says nothing of the rest.
  if (!text.startsWith(found.slice(0, 5))) return unproven('the model writes something else each time')
  if (found.trimEnd() !== wanted.trimEnd())
    return finding(`the text before ${JSON.stringify(stop)} is ${JSON.stringify(wanted)}, and ${JSON.stringify(found)} came`)
  return finishOf(reply) === 'stop' ? holds : finding(`the finish reason is ${finishOf(reply)}, not stop`)
}

const small = 5

function limited(field: string) {
  return answered((server) => [chat(server), chat(server, { max_tokens: undefined, [field]: small })])(([free, reply]) => {
    const [most, written] = [usageIn(free).output ?? 0, reply && usageIn(reply).output]
    if (reply === undefined || written === undefined) return unproven('the reply has no usage')
    if (written > small) return `${written} tokens were generated, and the limit is ${small}`
    if (most <= small) return unproven('the model writes less than the limit')
    if (chatText(free) !== '' && chatText(reply).length >= chatText(free).length)
      return `the text is as long as with a limit of ${usualTokens} tokens`
    return finishOf(reply) === 'length' ? undefined : `the reply is truncated, and its finish reason is ${finishOf(reply)}`
  })
}

/** A prompt of about this many tokens, whose first words are these. */
const headed = ({ tokensPerWord }: Server, head: string, tokens: number) =>
  user(`${head} ${words(Math.ceil(tokens / tokensPerWord))}
What is at the beginning of this text?`)
const heads = ['The code is ALPHA, and everything below is noise.', 'The code is 9 7 3, and nothing below matters here.'] as const

/** How many tokens of a prompt a check may have the server read. */
const patienceMs = 12_000
const mostTokens = 140_000
const guessedContext = 6000
const affordable = ({ promptSpeed }: Server, tokens: number) =>
  tokens <= mostTokens && (tokens / promptSpeed) * 1000 <= patienceMs

/** A prompt that does not fit is refused, or read whole: a reply that counts less than was sent has lost some. */
function* overflowSteps(server: Server): Steps {
  const limit = server.contextLength ?? guessedContext
  const sent = Math.ceil(limit * 1.25) + 100
  if (!affordable(server, sent)) return unproven(`a prompt of ${sent} tokens takes too long, or costs too much`)
  const reply = yield chat(server, { messages: [headed(server, heads[0], sent)], max_tokens: 4 })
  if (reply.status >= 400 && reply.status < 500) return holds
  const problem = unanswered(reply)
  if (problem !== undefined) return problem
  const counted = usageIn(reply).input
  if (counted === undefined) return unproven('the reply has no count of the prompt')
  return counted >= sent * 0.9
    ? holds
    : finding(`a prompt of about ${sent} tokens is answered, and ${counted} are counted: the rest is dropped`)
}

const overflowCode: (reply: Exchange) => Verdict = (reply) => {
  if (reply.status < 400) return unproven('the server accepts the prompt')
  if (reply.status >= 500) return finding(`the server answers ${reply.status}`)
  const words = messageIn(reply) ?? ''
  const isNamed =
    JSON.stringify(reply.json ?? '').includes('context') || /context|too long|too many tokens|maximum.*length/i.test(words)
  return isNamed ? holds : finding(`the error does not say that the prompt is too long: ${short(words || reply.text)}`)
}

/** The log-probabilities of the first token depend on each token before it: those of two heads are equal only if neither is read. */
function* headSteps(server: Server): Steps {
  const limit = server.contextLength ?? guessedContext
  const options = { max_tokens: 1, logprobs: true, top_logprobs: 5 }
  const pair = (tokens: number) => heads.map((head) => chat(server, { messages: [headed(server, head, tokens)], ...options }))
  const readPair = function* (tokens: number): Generator<Ask, Verdict | 'same' | 'different', Exchange> {
    const seen: string[] = []
    for (const ask of pair(tokens)) {
      const reply = yield ask
      const problem = unanswered(reply, { isOptional: true })
      if (problem !== undefined) return problem
      const first = at(reply.json, 'choices.0.logprobs.content.0')
      if (first === undefined) return unproven('the reply has no log-probabilities')
      seen.push(JSON.stringify(listAt(first, 'top_logprobs').map((top) => [at(top, 'token'), at(top, 'logprob')])))
    }
    return seen[0] === seen[1] ? 'same' : 'different'
  }
  const tokens = [0.7, 0.3].map((part) => Math.floor(limit * part)).find((count) => affordable(server, 2 * count))
  if (tokens === undefined) return unproven('a long prompt takes too long')
  const short = yield* readPair(10)
  if (typeof short !== 'string') return short
  if (short === 'same') return unproven('the log-probabilities do not depend on the prompt')
  const long = yield* readPair(tokens)
  if (typeof long !== 'string') return long
  return long === 'different'
    ? holds
    : finding(`in a prompt of about ${tokens} tokens, the first sentence changes nothing: it is not read`)
}

export const limitRows = rowsOf('limits', {
  'max-tokens': [
    severe('`max_tokens` limits the output, and a truncated reply says `length`.', 'those who pay, and those who parse'),
    limited('max_tokens'),
  ],
  'max-completion-tokens': [
    severe('`max_completion_tokens` limits the output.', 'newer OpenAI SDKs'),
    limited('max_completion_tokens'),
  ],
  stop: [
    severe(
      'A stop sequence ends the output, is not part of it, and the finish reason is `stop`.',
      'frameworks with text formats',
    ),
    (server) => stopSteps(server, (stop) => chat(server, { stop })),
  ],
  'stop-list': [
    severe('`stop` may be a list, of which each sequence ends the output.', 'frameworks with text formats'),
    (server) => stopSteps(server, (stop) => chat(server, { stop: ['\u0000never', stop] })),
  ],
  'stop-streamed': [
    severe('In a stream, no part of a stop sequence is sent.', 'frameworks with text formats'),
    (server) => stopSteps(server, (stop) => streamed(server, { stop: [stop] })),
  ],
  overflow: [
    severe(
      'A prompt that does not fit is refused; nothing of it is dropped in silence.',
      'agents, whose instructions are at the head',
    ),
    overflowSteps,
  ],
  'overflow-error': [
    moderate('The refusal of a long prompt says that the context is exceeded.', 'agents, which then compact the conversation'),
    function* (server) {
      const limit = server.contextLength ?? guessedContext
      const sent = Math.ceil(limit * 1.25) + 100
      if (!affordable(server, sent)) return unproven(`a prompt of ${sent} tokens takes too long, or costs too much`)
      return overflowCode(yield chat(server, { messages: [headed(server, heads[0], sent)], max_tokens: 4 }))
    },
  ],
  head: [severe('The head of a long prompt is read.', 'agents, whose instructions are at the head'), headSteps],
  'large-limit': [
    slight('A limit above the context is refused or reduced; the server does not fail.', 'clients with a high default'),
    answered((server) => chat(server, { max_tokens: 100_000_000, stop: ['.', ',', ' the'] }), { isOptional: true })(
      () => undefined,
    ),
  ],
})
