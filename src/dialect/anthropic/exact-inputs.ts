import type { CanonicalPath } from '../../contract/field.ts'
import { compactJson, losesDigits, objectTexts } from '../wire/json/exact-json.ts'

/** The inputs of calls whose numbers do not fit a double, as JSON, by their paths in the body. */
export function findExactInputs(body: string | undefined): ReadonlyMap<string, string> {
  const exact = new Map<string, string>()
  if (body === undefined) return exact
  for (const [path, text] of objectTexts(body, isInput)) if (losesDigits(text)) exact.set(path, compactJson(text))
  return exact
}

/** `messages[0].content[1].input` */
function isInput([messages, index, content, position, input, ...rest]: CanonicalPath): boolean {
  return (
    messages === 'messages' &&
    typeof index === 'number' &&
    content === 'content' &&
    typeof position === 'number' &&
    input === 'input' &&
    rest.length === 0
  )
}
