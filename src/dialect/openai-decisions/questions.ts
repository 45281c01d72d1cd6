import { AppError } from '../../contract/errors.ts'
import type { GeneratedToken } from '../../contract/event.ts'
import type { QuestionWire } from './schema.ts'

/** A question, and the answers that the model chooses from. */
export type Question = {
  readonly type: QuestionWire['type']
  readonly name: string | null
  /** The text that the model reads after the input. */
  readonly text: string
  readonly answers: readonly Answer[]
}

type Answer = {
  /** The text that the model writes for it. */
  readonly label: string
  /** Its name in the reply. */
  readonly value: string | boolean
}

type Described = { readonly value: string | boolean; readonly description?: string | null | undefined }

/** Throws `invalid-request` if the text of a question or of its answers is missing. */
export function readQuestion(wire: QuestionWire, at: string): Question {
  const { type, name, id } = wire
  const asked = textOf(wire, at)
  const make = (answers: readonly (Described & { readonly label: string })[], request: string): Question => {
    const lines = answers.flatMap((answer) => lineOf(answer))
    return { type, name: id ?? name ?? null, text: [asked, ...lines, request].join('\n'), answers }
  }
  switch (type) {
    case 'predicate':
    case 'yes_no': {
      const [yes, no] = type === 'yes_no' ? [wire.yes_description, wire.no_description] : []
      const answers = [
        { label: 'Yes', value: true, description: yes },
        { label: 'No', value: false, description: no },
      ]
      return make(answers, 'Answer in one word, Yes or No.')
    }
    case 'choice': {
      const found: readonly Described[] | undefined =
        wire.choices ?? wire.options?.map(({ name: value, description }) => ({ value, description }))
      if (found === undefined) throw missing(`${at}.choices`, 'an array of choices')
      const twice = found.findIndex(({ value }, index) => found.findIndex((other) => other.value === value) < index)
      if (twice >= 0) throw new AppError('invalid-request', `${at}: choice ${twice} is there twice`, { param: at })
      return make(labelled(found, letter), 'Answer with the letter of the best choice alone.')
    }
    case 'score': {
      const found = wire.levels.map((level) => (typeof level === 'string' ? { value: level } : { value: level.label, ...level }))
      return make(labelled(found, String), 'Answer with the number of the level that fits best alone.')
    }
  }
}

const letter = (index: number) => String.fromCharCode(65 + index)

function labelled(answers: readonly Described[], labelOf: (index: number) => string) {
  return answers.map((answer, index) => ({ ...answer, label: labelOf(index) }))
}

/** Empty for a plain yes or no, which explains itself. */
function lineOf({ label, value, description }: Described & { readonly label: string }): readonly string[] {
  const isLabel = label === 'Yes' || label === 'No'
  const shown = [...(isLabel ? [] : [String(value)]), ...(description ? [description] : [])]
  return shown.length === 0 ? [] : [`${label}: ${shown.join(' - ')}`]
}

function textOf({ instructions, question }: QuestionWire, at: string): string {
  const given = instructions ?? question
  if (given === undefined || given === null) throw missing(`${at}.instructions`, 'a text')
  if (typeof given === 'string') return given
  return given.map((part) => (part.type === 'input_text' ? part.text : JSON.stringify(part.data))).join('\n')
}

function missing(param: string, what: string): AppError {
  return new AppError('invalid-request', `${param} is missing: expected ${what}`, { param })
}

/** The probability of each answer; `mass`: the probability of giving any of them. */
export type Distribution = { readonly probabilities: readonly number[]; readonly mass: number }

/** Undefined where no answer is among the most probable tokens. An answer that is missing there has a probability of 0. */
export function distributionOf(
  token: GeneratedToken | undefined,
  { answers }: Question,
  temperature: number,
): Distribution | undefined {
  if (token === undefined) return undefined
  const seen = new Map([token, ...token.top].map(({ text, logprob }) => [text, logprob]))
  const masses = answers.map(({ label }) => {
    // With a leading space, or in lower case.
    const matching = [...seen].filter(([text]) => text.trim().toLowerCase() === label.toLowerCase())
    return matching.reduce((sum, [, logprob]) => sum + Math.exp(logprob), 0)
  })
  const mass = Math.min(1, sumOf(masses))
  if (mass === 0) return undefined
  const scaled = masses.map((one) => (one / mass) ** (1 / temperature))
  const all = sumOf(scaled)
  return { probabilities: scaled.map((one) => one / all), mass }
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}
