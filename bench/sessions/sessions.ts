import { createRandom } from '../../test/support/random.ts'

export type ChatMessage = { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }

/** The tokens of parts of a session; a word of `agentText` has `tokensPerWord`. */
export type SessionSize = { readonly systemTokens: number; readonly turns: number; readonly tokensPerWord: number }

/** A request of a session: its kind, and its messages after the answers so far. */
export type SessionStep = {
  readonly kind: string
  readonly thread: string
  /** What happens to the server before it. */
  readonly after?: 'swap' | 'restart'
  messages(answers: readonly string[]): readonly ChatMessage[]
}

const vocabulary =
  'read write file folder line change test error call value type name result check find open close list add remove build run return string number array object path import export model server request answer token cache state turn user system tool message part index order'.split(
    ' ',
  )

/** A text of random words, in sentences; equal seeds give equal texts. */
export function agentText(seed: number, words: number): string {
  const random = createRandom(seed)
  let text = ''
  for (let index = 0; index < words; index++)
    text += `${vocabulary[Math.floor(random() * vocabulary.length)]}${index % 12 === 11 ? '.\n' : ' '}`
  return text
}

/**
 * A session as agents have them: a long system message with its tools, turns that add a result of a tool to the answer before, the last
 * question again and edited, a subordinate agent between two turns, and another conversation with the same system message; then again after the
 * model was unloaded, as for another one, and after a restart.
 */
export function agentSession({ systemTokens, turns, tokensPerWord }: SessionSize): readonly SessionStep[] {
  const textOf = (seed: number, tokens: number) => agentText(seed, Math.round(tokens / tokensPerWord))
  const system: ChatMessage = { role: 'system', content: textOf(1, systemTokens) }
  const subordinate: ChatMessage = { role: 'system', content: textOf(2, systemTokens / 8) }
  const user = (seed: number): ChatMessage => ({ role: 'user', content: textOf(seed, 200) })
  /** The questions with the answers between them. */
  const conversation = (first: ChatMessage, questions: readonly ChatMessage[]) => (answers: readonly string[]) =>
    [first, ...questions.flatMap((question, index) => [...answersBefore(answers, index), question])] as const
  const questions = Array.from({ length: turns + 3 }, (_, index) => user(10 + index))
  const main = (count: number, last?: ChatMessage) =>
    conversation(system, last === undefined ? questions.slice(0, count) : [...questions.slice(0, count - 1), last])
  const step = (kind: string, thread: string, messages: SessionStep['messages']) => ({ kind, thread, messages })
  const tasks = [user(50), user(51), user(52)]
  return [
    step('cold', 'main', main(1)),
    ...Array.from({ length: turns - 1 }, (_, index) => step('turn', 'main', main(index + 2))),
    step('same again', 'again', main(turns)),
    step('edited question', 'edited', main(turns, user(60))),
    ...tasks.map((_, index) =>
      step(
        index === 0 ? 'subordinate, cold' : 'subordinate',
        'subordinate',
        conversation(subordinate, tasks.slice(0, index + 1)),
      ),
    ),
    step('after the subordinate', 'main', main(turns + 1)),
    step('other conversation', 'other', conversation(system, [user(70)])),
    { ...step('turn after a swap', 'main', main(turns + 2)), after: 'swap' },
    { ...step('turn after a restart', 'main', main(turns + 3)), after: 'restart' },
    step('other conversation after a restart', 'other', conversation(system, [user(71)])),
  ]
}

function answersBefore(answers: readonly string[], index: number): readonly ChatMessage[] {
  return index === 0 ? [] : [{ role: 'assistant', content: answers[index - 1] ?? '' }]
}
