import type { GrammarBuilder } from '../../core/grammar/grammar-builder.ts'
import type { Tool } from '../../core/request.ts'
import type { ForcedCalls, ForcedPiece } from '../../core/tool-format/forced-calls.ts'
import { textWithout } from './text-until.ts'

/** Calls to write down as a grammar, and the tools that they may be to, by position in the request. */
export type CallsToWrite = {
  readonly description: ForcedCalls
  readonly tools: readonly Tool[]
  /** Texts of tokens that end the turn: a grammar cannot ask for one as text. */
  readonly endTexts: readonly string[]
}

/** Adds the calls to a grammar; gives what stands for "one call or more, and nothing else". */
export function addCalls(builder: GrammarBuilder, { description, tools, endTexts }: CallsToWrite): string {
  const { prefix, calls, separator, suffix } = description
  let freeTexts = 0
  const freeText = (before: string): string => {
    const number = freeTexts++
    const rules = textWithout(before, (state) => `dragoman-text-${number}-${state}`)
    return rules.map(({ name, body }) => builder.addRule(name, body))[0] ?? '""'
  }
  const schemaOptions = (name: string) => {
    const index = tools.findIndex((tool) => tool.name === name)
    return { name: `${name}-arguments`, strict: tools[index]?.strict ?? false, param: `tools[${index}].function.parameters` }
  }
  const writePiece = (piece: ForcedPiece, name: string): string => {
    switch (piece.type) {
      case 'text':
        return builder.literal(piece.text)
      case 'json':
        return builder.addSchema(piece.schema, schemaOptions(name))
      case 'free-text':
        return freeText(piece.before)
      case 'optional':
        return `(${write(piece.pieces, name)})?`
    }
  }
  const write = (pieces: readonly ForcedPiece[], name: string): string => {
    return pieces.map((piece) => writePiece(piece, name)).join(' ')
  }
  const alternatives = calls.map(({ name, pieces }) => builder.addRule('call', write(pieces, name)))
  const call = builder.addRule('one-call', alternatives.join(' | '))
  const more = separator === undefined ? '' : ` (${builder.literal(separator)} ${call})*`
  return `${builder.literal(prefix)} ${call}${more} ${builder.literal(withoutEnd(suffix, endTexts))}`
}

function withoutEnd(suffix: string, endTexts: readonly string[]): string {
  const end = endTexts.find((text) => text !== '' && suffix.trimEnd().endsWith(text))
  return end === undefined ? suffix : suffix.trimEnd().slice(0, -end.length)
}
