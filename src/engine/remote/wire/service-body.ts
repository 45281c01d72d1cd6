import { randomUUID } from 'node:crypto'
import type { FormPart, ServiceBody } from '../../../contract/services.ts'

type UpstreamContent =
  | { readonly body: unknown }
  | { readonly bytes: { readonly contentType: string; readonly content: Uint8Array } }

/** What a caller sent, for a server that calls the model so. */
export function serviceBody(body: ServiceBody, model: string): UpstreamContent {
  if (body.type === 'json') return { body: { ...body.fields, model } }
  return { bytes: formBytes([{ name: 'model', value: model }, ...body.parts]) }
}

/** The parts as `multipart/form-data`, in their order. */
function formBytes(parts: readonly FormPart[]) {
  const boundary = `dragoman-${randomUUID()}`
  const pieces = parts.flatMap((part) => {
    const name = `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(part.name)}"`
    if ('value' in part) return [Buffer.from(`${name}\r\n\r\n${part.value}\r\n`)]
    const type = /[\r\n]/.test(part.mediaType) ? 'application/octet-stream' : part.mediaType
    const head = `${name}; filename="${quoted(part.filename)}"\r\ncontent-type: ${type}\r\n\r\n`
    return [Buffer.from(head), part.bytes, Buffer.from('\r\n')]
  })
  const content = Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)])
  return { contentType: `multipart/form-data; boundary=${boundary}`, content }
}

/** As browsers escape names in forms. */
function quoted(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}
