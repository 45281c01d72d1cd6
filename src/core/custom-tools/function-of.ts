import type { CustomTool, FunctionTool, JsonObject, ToolCallPart } from '../../contract/request.ts'

export function functionOf({ name, description, grammar }: CustomTool): FunctionTool {
  const input: JsonObject = grammar?.syntax === 'regex' ? { type: 'string', pattern: wholeText(grammar.definition) } : freeText
  return {
    name,
    description: [...(description ? [description] : []), inputNote(grammar)].join('\n\n'),
    parameters: parametersOf(input),
    ...(grammar !== undefined && { strict: true }),
  }
}

/** The parameters of a function whose only argument, `input`, satisfies this schema. */
export function parametersOf(input: JsonObject): JsonObject {
  return { type: 'object', properties: { input }, required: ['input'], additionalProperties: false }
}

export function functionCallOf({ id, name, input }: ToolCallPart): ToolCallPart {
  return { type: 'tool-call', id, name, input: JSON.stringify({ input }) }
}

const freeText: JsonObject = { type: 'string' }

function wholeText(pattern: string): string {
  return `^(?:${pattern})$`
}

const grammarNotes = {
  regex: 'This regular expression must match the whole text:',
  lark: 'The text must be one that this grammar, in the notation of Lark, allows from its rule `start`:',
} as const

function inputNote(grammar: CustomTool['grammar']): string {
  const note = 'Put the whole input of this tool into the string `input`, as text and without further markup.'
  return grammar === undefined ? note : `${note} ${grammarNotes[grammar.syntax]}\n${grammar.definition}`
}
