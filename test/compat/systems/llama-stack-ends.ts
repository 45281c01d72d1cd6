import { call, calling, deltasThen, pieces, saying } from '../answers.ts'
import { finish, has, status } from '../checks.ts'
import { better, type Group, over, type Row, works } from '../row.ts'
import { overStack, stack } from './stack-steps.ts'

const f = { tool_name: 'f', parameters: { a: { param_type: 'string' } } }
const logprobs = { content: [{ token: 'a', logprob: -0.3, bytes: [97], top_logprobs: [] }] }

const scores: readonly Row[] = [
  better(
    89,
    ['log-probabilities of chats', 'with bytes'],
    over(
      pieces(
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'a' }, logprobs, finish_reason: 'stop' }] })}\n\n`,
        'data: [DONE]\n\n',
      ),
      { logprobs: true },
      has('choices.0.logprobs.content.0.logprob', -0.3),
    ),
  ),
  works(
    90,
    'log-probabilities of completions',
    over(
      pieces(
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'a' }, logprobs: { tokens: ['a'], token_logprobs: [-0.3], top_logprobs: [{ a: -0.3 }] }, finish_reason: 'stop' }] })}\n\n`,
        'data: [DONE]\n\n',
      ),
      { logprobs: true },
      has('choices.0.logprobs.content.0.logprob', -0.3),
    ),
  ),
  works(
    91,
    '`tokens` and `token_logprobs` alone',
    over(
      pieces(
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'a' }, logprobs: { tokens: ['a'], token_logprobs: [-0.3] }, finish_reason: 'stop' }] })}\n\n`,
        'data: [DONE]\n\n',
      ),
      { logprobs: true },
      has('choices.0.logprobs.content.0.token', 'a'),
    ),
  ),
  works(
    92,
    'a number alone, as Together streams',
    over(
      pieces(
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'a' }, logprobs: -0.3, finish_reason: 'stop' }] })}\n\n`,
        'data: [DONE]\n\n',
      ),
      { model: 'together', logprobs: true },
      has('choices.0.logprobs.content.0.logprob', -0.3),
    ),
  ),
  better(
    93,
    ['a server has none, though asked', '502 with the field'],
    over(saying('a'), { logprobs: true }, status(502, /logprobs/)),
  ),
]

const reasons: Readonly<Record<string, string>> = {
  eos: 'stop',
  eos_token: 'stop',
  eom: 'stop',
  end_turn: 'stop',
  max_tokens: 'length',
  function_call: 'stop',
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
    over(deltasThen('error', { content: 'a' }), { model: 'openai' }, status(502)),
  ),
  works(
    96,
    '`end_of_turn`, `end_of_message`, `out_of_tokens`',
    stack({}, has('completion_message.stop_reason', 'end_of_turn')),
    overStack(calling(call('f', '{"a":"x"}')), { tools: [f] }, has('completion_message.stop_reason', 'end_of_message')),
  ),
]

/** Log-probabilities and finish reasons for llama-stack. */
export const stackEnds: readonly Group[] = [
  { title: 'log-probabilities', rows: scores },
  { title: 'finish reasons', rows: ends },
]
