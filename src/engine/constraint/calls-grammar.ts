import { AppError } from '../../contract/errors.ts'
import { field } from '../../contract/field.ts'
import type { FunctionTool } from '../../contract/request.ts'
import type { GrammarBuilder } from '../../grammar/grammar-builder.ts'
import type { CallPiece, RequiredCall, RequiredCalls } from '../../model-text/formats/required-calls.ts'

/** Calls to write as a grammar, and their tools, by index in the request. */
type CallsToWrite = {
  readonly description: RequiredCalls
  readonly tools: readonly FunctionTool[]
  /** Texts of tokens that end the turn: a grammar cannot contain them as text. */
  readonly endTexts: readonly string[]
  /** Does not refuse strict tools that the grammar cannot enforce: core checks the finished calls. */
  readonly isLenient?: boolean
}

/** Calls in one output: a weak model would make calls until its context is full. */
const maxCalls = 16

/** Adds the calls to a grammar; returns the expression for one or more calls and nothing else. */
export function addCalls(builder: GrammarBuilder, { description, tools, endTexts, isLenient = false }: CallsToWrite): string {
  const { calls, separator } = description
  if (!isLenient) for (const call of calls) refuseUnkept(call, tools)
  const writeCalls = createWriter(builder, { calls, tools, isLenient })
  const between = separator === undefined || endTexts.some((end) => end !== '' && separator.includes(end)) ? undefined : separator
  const prefix = builder.literal(afterEnd(description.prefix, endTexts))
  const suffix = builder.literal(beforeEnd(description.suffix, endTexts))
  return `${prefix} ${between === undefined ? writeCalls(0) : row(builder, { calls, between, writeCalls })} ${suffix}`
}

function refuseUnkept({ name, unenforced = [] }: RequiredCall, tools: readonly FunctionTool[]): void {
  const index = tools.findIndex((tool) => tool.name === name)
  const [keyword] = unenforced
  if (keyword === undefined || tools[index]?.strict !== true) return
  const message =
    `'${keyword}' at # of the parameters of '${name}' cannot be enforced in the way this model writes calls, and the tool is ` +
    'strict; leave it out, or ask without strict'
  throw new AppError('unsupported-field', message, { at: ['prompt', 'tools', index, 'parameters', keyword] })
}

/** The rule of the call at an index in the output. */
type WriteCalls = (position: number) => string

type Row = { readonly calls: RequiredCalls['calls']; readonly between: string; readonly writeCalls: WriteCalls }

/** Several calls. If calls contain their index, each index has its own rules. */
function row(builder: GrammarBuilder, { calls, between, writeCalls }: Row): string {
  const separator = builder.literal(between)
  const counts = (piece: CallPiece): boolean =>
    piece.type === 'position' || (piece.type === 'optional' && piece.pieces.some(counts))
  if (!calls.some(({ pieces }) => pieces.some(counts))) {
    const call = writeCalls(0)
    return `${call} (${separator} ${call}){0,${maxCalls - 1}}`
  }
  let more = ''
  for (let position = maxCalls - 1; position > 0; position--) {
    more = `(${separator} ${builder.addRule(`call-${position}`, `${writeCalls(position)} ${more}`)})?`
  }
  return `${writeCalls(0)} ${more}`
}

function createWriter(
  builder: GrammarBuilder,
  { calls, tools, isLenient }: Required<Pick<CallsToWrite, 'tools' | 'isLenient'>> & Pick<RequiredCalls, 'calls'>,
): WriteCalls {
  const values = new Map<CallPiece, string>()
  const writeValue = (piece: Exclude<CallPiece, { type: 'text' | 'optional' | 'position' }>, name: string): string => {
    const index = tools.findIndex((tool) => tool.name === name)
    const rule =
      values.get(piece) ??
      builder.addSchema(piece.schema, {
        name: `${name}-arguments`,
        strict: !isLenient && tools[index]?.strict === true,
        param: field('prompt', 'tools', index, 'parameters'),
        ...(piece.document !== undefined && { document: piece.document }),
        ...(piece.type === 'raw-text' && { rawUntil: piece.before }),
      })
    values.set(piece, rule)
    return rule
  }
  const writePiece = (piece: CallPiece, name: string, position: number): string => {
    switch (piece.type) {
      case 'text':
        return builder.literal(piece.text)
      case 'position':
        return builder.literal(String(piece.first + position))
      case 'json':
      case 'raw-text':
        return writeValue(piece, name)
      case 'optional':
        return `(${write(piece.pieces, name, position)})?`
    }
  }
  const write = (pieces: readonly CallPiece[], name: string, position: number): string => {
    return pieces.map((piece) => writePiece(piece, name, position)).join(' ')
  }
  return (position) => {
    const alternatives = calls.map(({ name, pieces }) => builder.addRule('call', write(pieces, name, position)))
    return builder.addRule('one-call', alternatives.join(' | '))
  }
}

/** The part of a text after the last token that would end the turn. */
export function afterEnd(text: string, endTexts: readonly string[]): string {
  const cuts = endTexts.filter((end) => end !== '' && text.includes(end)).map((end) => text.lastIndexOf(end) + end.length)
  return cuts.length === 0 ? text : text.slice(Math.max(...cuts)).trimStart()
}

function beforeEnd(text: string, endTexts: readonly string[]): string {
  const end = endTexts.find((each) => each !== '' && text.trimEnd().endsWith(each))
  return end === undefined ? text : text.trimEnd().slice(0, -end.length)
}
