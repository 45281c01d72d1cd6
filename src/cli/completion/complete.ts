import type { Command, Option } from 'commander'

/** A completion for the word at the cursor. */
export type Candidate = { readonly value: string; readonly description: string }

/** Kinds of values that the definitions of the commands do not list. */
export type Wanted = 'model' | 'stored'

export type Completion =
  | { readonly type: 'candidates'; readonly candidates: readonly Candidate[] }
  /** Names of this kind. */
  | { readonly type: 'names'; readonly wanted: Wanted }

/** The completions of the last word, from the definitions of the commands; files if there are no candidates. */
export function complete(program: Command, words: readonly string[]): Completion {
  const typed = words.at(-1) ?? ''
  const { command, position, pending } = follow(program, words.slice(0, -1))
  if (pending !== undefined) return valuesOf(pending)
  if (typed.startsWith('-')) {
    const options = command.options.filter(({ hidden }) => !hidden)
    const help = { value: '--help', description: 'show help' }
    return { type: 'candidates', candidates: [...options.map(candidateOf), help].filter(startsLike(typed)) }
  }
  const subcommands = position === 0 ? command.commands.filter((one) => !isHidden(one)) : []
  if (subcommands.length > 0) {
    const candidates = subcommands.map((one) => ({ value: one.name(), description: one.description() }))
    return { type: 'candidates', candidates: candidates.filter(startsLike(typed)) }
  }
  const { registeredArguments: args } = command
  const argument = args[position] ?? (args.at(-1)?.variadic === true ? args.at(-1) : undefined)
  if (argument?.argChoices !== undefined) {
    const candidates = argument.argChoices.map((value) => ({ value, description: '' }))
    return { type: 'candidates', candidates: candidates.filter(startsLike(typed)) }
  }
  if (argument?.name() === 'model') return { type: 'names', wanted: command.name() === 'rm' ? 'stored' : 'model' }
  return { type: 'candidates', candidates: [] }
}

export function startsLike(typed: string): (candidate: Candidate) => boolean {
  return ({ value }) => value.startsWith(typed)
}

/** The command that the words lead to, the number of its arguments so far, and the option that expects a value. */
function follow(program: Command, words: readonly string[]) {
  let command = program
  let position = 0
  let pending: Option | undefined
  for (const word of words) {
    if (pending !== undefined) pending = undefined
    else if (word.startsWith('-')) {
      const option = command.options.find(({ long, short }) => long === word || short === word)
      pending = option?.required === true ? option : undefined
    } else {
      const next =
        position === 0 ? command.commands.find((one) => one.name() === word || one.aliases().includes(word)) : undefined
      if (next === undefined) position += 1
      else command = next
    }
  }
  return { command, position, pending }
}

function valuesOf(option: Option): Completion {
  if (option.long === '--model') return { type: 'names', wanted: 'model' }
  return { type: 'candidates', candidates: (option.argChoices ?? []).map((value) => ({ value, description: '' })) }
}

function candidateOf({ long, short, description }: Option): Candidate {
  return { value: long ?? short ?? '', description }
}

/** Commander offers no public method for it. */
function isHidden(command: Command): boolean {
  return (command as Command & { readonly _hidden?: boolean })._hidden === true
}
