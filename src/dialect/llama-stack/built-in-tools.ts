import type { FunctionTool } from '../../contract/request.ts'

/**
 * Tools that Llama models know by name. A request may name them without parameters; other models need these, and a description. The client
 * runs them like all others.
 */
const builtIns: ReadonlyMap<string, Omit<FunctionTool, 'name'>> = new Map([
  ['brave_search', takes('query', 'Searches the web.', 'What to search for.')],
  ['wolfram_alpha', takes('query', 'Answers questions of mathematics, science and data.', 'The question.')],
  ['photogen', takes('query', 'Draws a picture.', 'What the picture shows.')],
  ['code_interpreter', takes('code', 'Runs Python code, and returns what it prints.', 'The code.')],
])

/** The definition of a built-in tool; undefined for other names. */
export function builtInTool(name: string): FunctionTool | undefined {
  const known = builtIns.get(name)
  return known === undefined ? undefined : { name, ...known }
}

function takes(parameter: string, description: string, about: string): Omit<FunctionTool, 'name'> {
  const parameters = {
    type: 'object',
    properties: { [parameter]: { type: 'string', description: about } },
    required: [parameter],
  }
  return { description, parameters }
}
