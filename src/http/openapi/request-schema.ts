import { type Field, spellings } from '../../dialect/wire/field-table.ts'
import { preview } from '../../dialect/wire/preview.ts'
import type { Body } from './operation.ts'

export type Json = Readonly<Record<string, unknown>>
type Properties = Record<string, Json>

/**
 * The schema of a body with the notes of its field table, and the fields that only the table knows, since they have no effect or are
 * refused with a value of any type.
 */
export function withFields(schema: Json, { fields = [], filledIn = [] }: Body): Json {
  const properties: Properties = { ...(schema.properties as Properties | undefined) }
  for (const field of fields) {
    // Nested fields are in docs/reference/protocols.md.
    if (/[.[]/.test(field.name)) continue
    for (const name of spellings(field)) {
      properties[name] = { ...(properties[name] ?? shapeOf(field)), description: describe(field, name) }
    }
  }
  const { required = [] } = schema as { readonly required?: readonly string[] }
  const needed = required.filter((name) => !filledIn.includes(name))
  return { ...schema, properties, required: needed }
}

/** A field without a type of its own: a refused one may still have its neutral values. */
function shapeOf(field: Field): Json {
  if (field.treatment !== 'refused' || field.acceptsAlso !== undefined) return {}
  return { enum: [...(field.accepts ?? []), null] }
}

function describe(field: Field, name: string): string {
  const other = name === field.name ? '' : `Another name of ${field.name}: `
  const note = field.note.replaceAll(/\[([^\]]+)\]\([\w/-]+\.md[^)]*\)/g, '$1')
  switch (field.treatment) {
    case 'used':
      return other + note
    case 'informational':
      return `${other}changes nothing: ${note}`
    case 'refused': {
      const { accepts = [], acceptsAlso } = field
      const fine = [...accepts.map(preview), ...(acceptsAlso === undefined ? [] : [acceptsAlso.what])]
      return `${other}refused${fine.length === 0 ? '' : ` unless ${fine.join(' or ')}`}: ${note}`
    }
  }
}
