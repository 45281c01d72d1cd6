import { AppError } from '../../contract/errors.ts'
import type { CanonicalPath } from '../../contract/field.ts'
import { ownTemplateName, type RequestTemplate, type TemplateStore } from '../../contract/template.ts'

/** The field that contains the name: of the wire, or of a canonical request. */
type NamingField = { readonly param: string } | { readonly at: CanonicalPath }

/** Finds a template by the name that callers use. Rejects with `invalid-request`, which lists the names, if there is none. */
export async function findTemplate(store: TemplateStore | undefined, name: string, place: NamingField): Promise<RequestTemplate> {
  if (name === ownTemplateName) return { type: 'own' }
  const source = await store?.read(name)
  if (source !== undefined) return { type: 'named', name, source }
  const others = (await store?.list()) ?? []
  const names = [ownTemplateName, ...others.filter((other) => other !== ownTemplateName)]
  const message = `there is no template '${name.slice(0, 100)}'; choose one of: ${names.join(', ')}`
  throw new AppError('invalid-request', message, place)
}
