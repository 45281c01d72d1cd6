import { type Check, deltas, type Reply, valueAt } from '../checks.ts'
import { chat, post, textPart, tiny, user } from '../row.ts'

/** A chat with a part beside a text. */
export const seen = (part: object, ...checks: readonly Check[]) => chat({ messages: [user([textPart('see'), part])] }, ...checks)

/** Scores of the model that ranks. */
export const score = (fields: object, ...checks: readonly Check[]) =>
  post('/v1/score/evaluation', { model: 'ranker', messages: ['a b c d', 'b'], ...fields }, ...checks)

/** What the template of a model makes of a conversation, its tools included. */
export const renders = (fields: object, ...checks: readonly Check[]) =>
  post('/apply-template', { model: 'dragoman-tiny', messages: [user('q')], ...fields }, ...checks)

/** It counts from 1: sampling changes what follows. */
export const counting = (fields: object = {}, ...checks: readonly Check[]) =>
  tiny({ max_tokens: 24, messages: [user('Count to ten.')], ...fields }, ...checks)
/** Every token has a chance. */
export const wild = { temperature: 2, top_k: 0, top_p: 1, min_p: 0, seed: 1 }

/** The texts of a stream's choices, in the order of their numbers. */
export function streamed(...wanted: readonly string[]): Check {
  return (reply) => {
    const texts = textsOf(reply)
    return JSON.stringify(texts) === JSON.stringify(wanted)
      ? undefined
      : `streams ${JSON.stringify(texts)}: ${reply.text.slice(0, 400)}`
  }
}

function textsOf(reply: Reply): readonly string[] {
  const texts: string[] = []
  for (const one of deltas(reply, 'choices.0')) {
    const index = Number(valueAt(one, 'index'))
    texts[index] = `${texts[index] ?? ''}${valueAt(one, 'delta.content') ?? valueAt(one, 'text') ?? ''}`
  }
  return texts
}

/** The calls of a stream, each from its pieces, as `name({…})`. */
export function streamsCalls(...wanted: readonly string[]): Check {
  return (reply) => {
    const found: { name: string; args: string }[] = []
    for (const piece of deltas(reply, 'choices.0.delta.tool_calls').flat()) {
      const { index, function: fragment } = piece as { index: number; function?: { name?: string; arguments?: string } }
      found[index] ??= { name: '', args: '' }
      found[index].name += fragment?.name ?? ''
      found[index].args += fragment?.arguments ?? ''
    }
    const shown = found.map(({ name, args }) => `${name}(${args.replace(/\s/g, '')})`)
    return shown.join() === wanted.join() ? undefined : `streams the calls ${shown.join()}, not ${wanted.join()}`
  }
}

/** That a text has these, in this order. */
export const inOrder = (...words: readonly string[]) => {
  return (value: unknown): boolean => {
    const places = words.map((word) => String(value).indexOf(word))
    return places.every((place, index) => place >= 0 && (index === 0 || place > (places[index - 1] ?? 0)))
  }
}

/** That the tokens of a stream's log-probabilities are the text of their choice. */
export function tokensAreTexts(choices: number): Check {
  return (reply) => {
    const tokens: string[] = []
    for (const one of deltas(reply, 'choices.0')) {
      const index = Number(valueAt(one, 'index'))
      const found = (valueAt(one, 'logprobs.content') ?? []) as { token: string }[]
      tokens[index] = `${tokens[index] ?? ''}${found.map(({ token }) => token).join('')}`
    }
    return tokens.length === choices ? streamed(...tokens)(reply) : `log-probabilities of ${tokens.length} choices`
  }
}
