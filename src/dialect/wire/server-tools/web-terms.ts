import { z } from 'zod'
import { AppError } from '../../../contract/errors.ts'
import type { SiteRules } from '../../../contract/request.ts'
import { preview } from '../preview.ts'

/** A host, with or without the beginning of a path. */
const site = /^(?=.{1,253}(\/|$))[a-z\d]([a-z\d-]*[a-z\d])?(\.[a-z\d]([a-z\d-]*[a-z\d])?)*(\/[^\s"'()]*)?$/i
const maxSites = 100

/** The sites that a search may find, or whose pages may be read. Throws `invalid-request` for anything but a list of them. */
export function readSites(
  wire: { readonly allowed_domains?: unknown; readonly blocked_domains?: unknown },
  path: string,
): SiteRules {
  return { ...listed('allowed', wire.allowed_domains, path), ...listed('blocked', wire.blocked_domains, path) }
}

function listed(which: 'allowed' | 'blocked', value: unknown, path: string): SiteRules {
  // Some clients send an empty list for none.
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return {}
  const param = `${path}.${which}_domains`
  if (!Array.isArray(value) || value.length > maxSites) {
    throw new AppError('invalid-request', `${param} must be an array of at most ${maxSites} domains`, { param })
  }
  for (const [index, entry] of value.entries()) {
    if (typeof entry === 'string' && site.test(entry)) continue
    const at = `${param}[${index}]`
    const message = `${at} is ${preview(entry)}: send a domain without a scheme, such as "example.com" or "example.com/blog"`
    throw new AppError('invalid-request', message, { param: at })
  }
  return { [which]: value as string[] }
}

const part = z.string().trim().min(1).max(100).optional().catch(undefined)
const place = z.object({ city: part, region: part, country: part, timezone: part }).catch({})

/** The user's location, in words; undefined if it is not given. */
export function readUserPlace(wire: unknown): string | undefined {
  const { city, region, country, timezone } = place.parse(wire)
  const where = [city, region, country].filter((known) => known !== undefined).join(', ')
  const all = [where, timezone === undefined ? '' : `time zone ${timezone}`].filter((known) => known !== '').join(', ')
  return all === '' ? undefined : all.replace(/\s+/g, ' ')
}
