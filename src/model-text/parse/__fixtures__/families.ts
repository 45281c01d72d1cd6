import { elementFamilies } from './element-families.ts'
import { headedFamilies } from './headed-families.ts'
import { jsonFamilies } from './json-families.ts'
import { messageFamilies } from './message-families.ts'
import type { Family } from './output-case.ts'
import { pairFamilies } from './pair-families.ts'
import { pythonFamilies } from './python-families.ts'

/** How each family of models writes its answers. */
export const families: readonly Family[] = [
  ...jsonFamilies,
  ...elementFamilies,
  ...pairFamilies,
  ...headedFamilies,
  ...pythonFamilies,
  ...messageFamilies,
]
