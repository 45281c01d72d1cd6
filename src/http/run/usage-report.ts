import type { Principal } from '../../contract/principal.ts'
import { encodeUsage } from '../../dialect/own/usage.ts'
import type { Limits, Operating } from './deps.ts'

type Question = { readonly from?: string | undefined; readonly to?: string | undefined; readonly key?: string | undefined }

/** The usage of a caller (with the scope `admin`: of every key, or of the one that it names), and the budgets of the caller. */
export async function usageOf(
  { usage, readBudgets }: Pick<Operating, 'usage'> & Pick<Limits, 'readBudgets'>,
  { id, scopes, quota }: Principal,
  { from = monthOf(Date.now()), to, key }: Question,
) {
  const caller = scopes.has('admin') ? key : id
  const [entries = [], budgets = []] = await Promise.all([
    usage?.read({ from, ...(to !== undefined && { to }), ...(caller !== undefined && { caller }) }),
    quota && readBudgets?.(quota),
  ])
  return encodeUsage({ from, to: to ?? dayOf(Date.now()), entries, budgets })
}

const dayOf = (nowMs: number) => new Date(nowMs).toISOString().slice(0, 'yyyy-mm-dd'.length)
/** The first day of its month. */
const monthOf = (nowMs: number) => `${dayOf(nowMs).slice(0, 'yyyy-mm'.length)}-01`
