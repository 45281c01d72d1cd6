import type { Logger } from 'pino'
import type { ConfiguredModel } from '../../../config/models.ts'
import { messageOf } from '../../../contract/errors.ts'
import { ownTemplateName, type RequestTemplate, type TemplateStore } from '../../../contract/template.ts'
import { sourceFileName } from '../../../registry/names/sources.ts'

export interface TemplateFiles {
  find(names: readonly string[]): Promise<{ readonly name: string; readonly path: string } | undefined>
}

/** A template that was found by the name of its model. */
type FoundTemplate = Extract<RequestTemplate, { type: 'named' }> & { readonly path: string }

type Parts = { readonly templates: Pick<TemplateStore, 'read'> & TemplateFiles; readonly log: Logger }

/**
 * The template of the folder with a name of the model, if its configuration has none; undefined without a readable one, which is logged:
 * the model then uses its own.
 */
export async function findTemplateByName(config: ConfiguredModel, { templates, log }: Parts): Promise<FoundTemplate | undefined> {
  if (config.chatTemplate !== undefined) return undefined
  const { id } = config
  try {
    const found = await templates.find(namesOf(config))
    if (found === undefined) return undefined
    const { name, path } = found
    const source = await templates.read(name)
    if (source === undefined) return undefined
    log.info(
      { model: id, template: name },
      `chat template: '${name}' of the folder of templates, which has the name of the model`,
    )
    return { type: 'named', name, source, path }
  } catch (error) {
    log.warn({ model: id, reason: messageOf(error) }, 'no chat template was looked for by the name of the model')
    return undefined
  }
}

/** Its id, its aliases, and the name of its file or on its servers, each also without the part before a slash. */
export function namesOf(config: ConfiguredModel): readonly string[] {
  const { id, aliases } = config
  const files = config.engine === 'llama' || config.engine === 'llama-server' ? config.source.map(sourceFileName) : []
  const served = config.engine === 'remote' ? (config.upstreamModel ?? []) : []
  const stems = files.map((file) => file.replace(/(?:-\d{5}-of-\d{5})?\.gguf$/i, ''))
  const names = [id, ...aliases, ...stems].concat(served).flatMap((name) => [name, name.slice(name.lastIndexOf('/') + 1)])
  // Every model calls its own template that.
  return [...new Set(names)].filter((name) => name !== ownTemplateName)
}
