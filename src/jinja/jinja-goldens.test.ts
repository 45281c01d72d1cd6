import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readLlamaTemplates } from '../../test/support/llama/llama-templates.ts'
import { compileJinja, type JinjaTemplate } from './jinja-template.ts'
import { asForeignData } from './texts/from-json.ts'
import { plainText } from './values/foreign-text.ts'
import { JinjaError } from './values/jinja-error.ts'

/** What Python's jinja2 made of real chat templates. A plain clone has no vectors: `jinja-template.test.ts` runs everywhere. */
const vectors = new URL('../../../shared/vectors/templates/', import.meta.url)
const hasVectors = existsSync(vectors)
const templates = hasVectors ? readLlamaTemplates() : undefined

type Golden = { template: string; case: string; output?: string; error?: string }
type Goldens = { cases: { id: string; context: Record<string, unknown> }[]; renders: Golden[] }
type UnitCase = { name: string; template: string; vars: Record<string, unknown>; expect: string }

function readVectors(name: string): string {
  return readFileSync(new URL(name, vectors), 'utf8')
}

function readUnitCases(): UnitCase[] {
  const lines = readVectors('jinja-unit.jsonl').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as UnitCase)
}

function foreignVariables(variables: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, asForeignData(value)]))
}

/** Undefined for a template that fails. */
function attempt(render: () => string): string | undefined {
  try {
    return render()
  } catch (error) {
    if (error instanceof JinjaError) return undefined
    throw error
  }
}

test.skipIf(templates === undefined)('the 480 recorded renders of Python: same text, same refusals', () => {
  const { cases, renders } = JSON.parse(readVectors('goldens.json')) as Goldens
  const contexts = new Map(cases.map(({ id, context }) => [id, context]))
  const compiled = new Map<string, JinjaTemplate>()
  const now = () => new Date(2025, 6, 26, 12, 34, 56)
  const compile = (name: string): JinjaTemplate => {
    const template = compiled.get(name) ?? compileJinja(templates?.get(name) ?? '', { now })
    compiled.set(name, template)
    return template
  }
  const differing = renders.filter((golden) => {
    const context = contexts.get(golden.case) ?? {}
    const rendered = attempt(() => compile(golden.template).render(context))
    // The origin of a text changes nothing.
    const foreign = attempt(() => plainText(compile(golden.template).render(foreignVariables(context))))
    return rendered !== golden.output || foreign !== golden.output
  })
  expect(differing.map((golden) => `${golden.template}: ${golden.case}`)).toEqual([])
  expect(renders).toHaveLength(480)
})

describe.skipIf(!hasVectors)('a small template', () => {
  test.each(hasVectors ? readUnitCases() : [])(
    'the template $name prints the recorded text',
    ({ template, vars, expect: expected }) => {
      const { render } = compileJinja(template, { rules: 'llama.cpp' })
      expect(render(vars)).toBe(expected)
      expect(plainText(render(foreignVariables(vars)))).toBe(expected)
    },
  )
})
