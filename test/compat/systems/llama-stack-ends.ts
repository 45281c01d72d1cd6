import { call, calling, deltasThen, pieces, saying, whole } from '../answers.ts'
import { finish, has, status, upstreamGotEach } from '../checks.ts'
import { better, complete, type Group, over, type Row, sent, works } from '../row.ts'
import { content, f, overStack, stack, stopReason } from './stack-steps.ts'

/** A stream of one chunk with the text `a`, and what else the server says of it. */
const scored = (logprobs: unknown) =>
  pieces(
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'a' }, logprobs, finish_reason: 'stop' }] })}\n\n`,
    'data: [DONE]\n\n',
  )
const other = { token: 'b', logprob: -1.5, bytes: [98] }
const token = { token: 'a', logprob: -0.3, bytes: [97] }
const ofTokens = { tokens: ['a'], token_logprobs: [-0.3] }
const place = 'choices.0.logprobs.content.0'

const scores: readonly Row[] = [
  better(
    89,
    ['log-probabilities of chats', 'with bytes'],
    over(
      scored({ content: [{ ...token, top_logprobs: [token, other] }] }),
      { logprobs: true, top_logprobs: 2 },
      upstreamGotEach('top_logprobs', 2),
      has(place, { ...token, top_logprobs: [token, other] }),
    ),
    overStack(
      scored({ content: [{ ...token, top_logprobs: [other] }] }),
      { logprobs: { top_k: 1 } },
      has('logprobs.0.logprobs_by_token', { a: -0.3, b: -1.5 }),
    ),
  ),
  works(
    90,
    'log-probabilities of completions',
    over(
      scored({ ...ofTokens, top_logprobs: [{ b: -1.5 }] }),
      { logprobs: true, top_logprobs: 1 },
      has(`${place}.top_logprobs`, [other]),
    ),
    sent(
      {
        upstream: whole({
          choices: [{ index: 0, text: 'a', logprobs: { ...ofTokens, top_logprobs: [{ a: -0.3 }] }, finish_reason: 'stop' }],
        }),
      },
      complete({ model: 'vllm', logprobs: 1 }, has('choices.0.logprobs.token_logprobs', [-0.3])),
    ),
  ),
  works(
    91,
    '`tokens` and `token_logprobs` alone',
    over(scored(ofTokens), { logprobs: true }, has(place, { ...token, top_logprobs: [] })),
  ),
  works(
    92,
    'a number alone, as Together streams',
    ...[-0.3, 0].map((logprob) =>
      over(scored(logprob), { model: 'together', logprobs: true }, has(place, { ...token, logprob, top_logprobs: [] })),
    ),
  ),
  better(
    93,
    ['a server has none, though asked', '502 with the field'],
    over(saying('a'), { logprobs: true }, status(502, /"param":"logprobs"/)),
  ),
]

const reasons: Readonly<Record<string, string>> = {
  stop: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  eom: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_calls: 'stop',
  function_call: 'stop',
  length: 'length',
  max_tokens: 'length',
  content_filter: 'content_filter',
}

const ends: readonly Row[] = [
  better(
    94,
    ['words for the end of a reply', 'one table for all servers'],
    ...Object.entries(reasons).map(([word, reason]) => over(deltasThen(word, { content: 'a' }), {}, finish(reason))),
  ),
  better(
    95,
    ['an unknown word', '`stop`; words of failure are errors'],
    over(deltasThen('zzz', { content: 'a' }), {}, finish('stop')),
    ...['error', 'abort', 'timeout'].map((word) =>
      over(deltasThen(word, { content: 'a' }), { model: 'openai' }, status(502, new RegExp(`finish reason is '${word}'`))),
    ),
  ),
  works(
    96,
    '`end_of_turn`, `end_of_message`, `out_of_tokens`',
    stack({}, stopReason('end_of_turn')),
    overStack(calling(call('f', '{"a":"x"}')), { tools: [f] }, stopReason('end_of_message')),
    overStack(deltasThen('length', { content: 'a' }), {}, content('a'), stopReason('out_of_tokens')),
  ),
]

/** Log-probabilities and finish reasons for llama-stack. */
export const stackEnds: readonly Group[] = [
  { title: 'log-probabilities', rows: scores },
  { title: 'finish reasons', rows: ends },
]
