import type { EngineFacts } from '../../contract/engine.ts'
import { ownTemplateName } from '../../contract/template.ts'

/** The name of the template in use; undefined without one, and before the model's first load. */
export function nameInUse({ chatTemplate, chatTemplateName }: EngineFacts): string | undefined {
  return chatTemplate === undefined ? undefined : (chatTemplateName ?? ownTemplateName)
}
