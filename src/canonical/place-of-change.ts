import { formatPath } from '../contract/field.ts'
import type { PromptChange } from '../contract/usage.ts'

/** Where a prompt differs, without texts of the caller such as the names of template variables. */
export function placeOfChange({ at }: PromptChange): string {
  return formatPath(at[1] === 'templateVariables' ? at.slice(0, 2) : at)
}
