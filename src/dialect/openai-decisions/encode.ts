import { AppError } from '../../contract/errors.ts'
import type { Choice, GenerationResult } from '../../contract/result.ts'
import { encodeUsage } from '../openai-responses/response-end.ts'
import type { DecodedDecisions } from './decode.ts'
import { type Distribution, distributionOf, type Question } from './questions.ts'
import type { Decisions, TabbyDecisions } from './replies.ts'

/** The version of the words around a question: other words give other probabilities. */
const promptVersion = 1

type Answered = { readonly question: Question; readonly found: Distribution | undefined; readonly choice: Choice | undefined }

/** The reply in OpenAI's form, or in tabbyAPI's. Throws if a model thinks before it answers. */
export function encodeDecisions(
  { questions, isTabby, temperature }: DecodedDecisions,
  result: GenerationResult,
): Decisions | TabbyDecisions {
  const answered = questions.map((question, index): Answered => {
    const choice = result.choices[index]
    return { question, choice, found: distributionOf(choice?.tokens[0], question, temperature) }
  })
  if (answered.some(({ choice }) => isThought(choice))) throw thinksFirst(result.start.model)
  return isTabby ? tabbyReply(answered, result) : openaiReply(answered, result)
}

function isThought(choice: Choice | undefined): boolean {
  const [token] = choice?.tokens ?? []
  // A tag that the model's format does not know is a text.
  return (
    choice?.parts.some(({ type }) => type === 'reasoning') === true ||
    /^[<[].*(think|thought|reason)/i.test(token?.text.trim() ?? '')
  )
}

function openaiReply(answered: readonly Answered[], { start, usage }: GenerationResult): Decisions {
  return { answers: answered.map(openaiAnswer), model: start.model, usage: encodeUsage(usage) }
}

function openaiAnswer({ question: { type, name, answers }, found }: Answered): Decisions['answers'][number] {
  if (found === undefined) return { type: 'refusal', name }
  const { probabilities } = found
  const scored = answers.map(({ value }, index) => ({ value, probability: probabilities[index] ?? 0 }))
  const best = scored.reduce((one, other) => (other.probability > one.probability ? other : one))
  switch (type) {
    case 'predicate':
    case 'yes_no':
      return { type: 'predicate', name, probability: probabilities[0] ?? 0 }
    case 'choice':
      return { type, name, choice: best.value, confidence: best.probability, probabilities: scored }
    case 'score':
      return {
        type,
        name,
        score: expected(probabilities),
        confidence: best.probability,
        probabilities: scored.map(({ value: label, probability }, value) => ({ label: String(label), value, probability })),
      }
  }
}

function tabbyReply(answered: readonly Answered[], { start, usage }: GenerationResult): TabbyDecisions {
  return {
    object: 'decisions',
    model: start.model,
    prompt_format_version: promptVersion,
    answers: Object.fromEntries(answered.map((one) => [one.question.name, tabbyAnswer(one)])),
    usage: { prompt_tokens: usage.inputTokens, completion_tokens: usage.outputTokens },
  }
}

function tabbyAnswer({ question: { type, name, answers }, found, choice }: Answered): object {
  if (found === undefined) {
    const shown = choice?.tokens[0]?.text ?? ''
    throw new AppError('invalid-output', `question '${name}' was answered with '${shown}', and none of its answers was near`)
  }
  const { probabilities, mass: label_mass } = found
  // Its labels for yes and no are in lower case.
  const isYesNo = type === 'yes_no' || type === 'predicate'
  const labels = answers.map(({ label }) => (isYesNo ? label.toLowerCase() : label))
  const common = { probabilities: Object.fromEntries(labels.map((label, index) => [label, probabilities[index]])), label_mass }
  switch (type) {
    case 'predicate':
    case 'yes_no':
      return { type: 'yes_no', ...common }
    case 'choice':
      return { type, ...common, choice: answers[probabilities.indexOf(Math.max(...probabilities))]?.value }
    case 'score':
      return { type, ...common, score: expected(probabilities) }
  }
}

/** The mean of the levels, which are counted from 0. */
function expected(probabilities: readonly number[]): number {
  return probabilities.reduce((sum, probability, level) => sum + probability * level, 0)
}

function thinksFirst(model: string): AppError {
  const message = `model '${model}' thinks before it answers, and a decision reads its first token: choose a model that answers without thinking`
  return new AppError('unsupported-field', message, { param: 'model' })
}
