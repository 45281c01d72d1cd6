import { type Keys, keysOf, type NestedCheck } from '../wire/nested-check.ts'
import {
  type CommonWire,
  jsonSchemaFormat,
  responseFormats,
  streamOptionsObject,
  structuredOutputsObject,
} from './common-schema.ts'

const streamOptionsKeys = keysOf(streamOptionsObject)
const structuredOutputsKeys = keysOf(structuredOutputsObject)
const jsonSchemaKeys = keysOf(jsonSchemaFormat)
const formatKeys: Readonly<Record<keyof typeof responseFormats, Keys>> = {
  text: keysOf(responseFormats.text),
  json_object: keysOf(responseFormats.json_object),
  json: keysOf(responseFormats.json),
  json_schema: keysOf(responseFormats.json_schema),
  regex: keysOf(responseFormats.regex),
  grammar: keysOf(responseFormats.grammar),
}

/** Checks the nested objects that chats and completions share. */
export function checkCommonNested(nested: NestedCheck, wire: CommonWire): void {
  nested.check(wire.stream_options, streamOptionsKeys, { path: 'stream_options' })
  checkConstraints(nested, wire)
}

/** Checks the constraints on the output that are objects. */
export function checkConstraints(
  { check }: NestedCheck,
  { structured_outputs, response_format }: Pick<CommonWire, 'structured_outputs' | 'response_format'>,
): void {
  check(structured_outputs, structuredOutputsKeys, { path: 'structured_outputs' })
  if (!response_format) return
  check(response_format, formatKeys[response_format.type], { path: 'response_format' })
  // Without a wrapper the object is a JSON Schema, whose keywords the grammar checks.
  if (response_format.type !== 'json_schema' || (response_format.json_schema.schema ?? undefined) === undefined) return
  check(response_format.json_schema, jsonSchemaKeys, { path: 'response_format.json_schema' })
}
