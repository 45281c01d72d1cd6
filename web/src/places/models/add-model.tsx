import { useEffect, useState } from 'preact/hooks'
import { call, describe } from '../../api/client.ts'
import { placeTexts } from '../../texts/places.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { formatBytes, formatCount } from '../../ui/numbers.ts'
import { Ahead } from './estimate.tsx'
import { pull } from './pulls.ts'

const texts = placeTexts.models

type Offer = { readonly name: string; readonly abilities: readonly (keyof typeof texts.offered)[] }
type Model = Offer & {
  readonly title: string
  readonly size_bytes: number
  readonly max_context_length: number
  readonly fits: boolean
  readonly proposed: boolean
}
type Repository = Offer & { readonly downloads: number }
type Offers = { readonly models: readonly Model[]; readonly repositories: readonly Repository[]; readonly problem?: string }

/** Nobody types that fast. */
const quietMs = 300
const shortestSearch = 3
const longQuietMs = 800

/** The models that can be fetched: the catalogue, and what Hugging Face has for the typed text, each one click away. */
export function AddModel({ onClose }: { readonly onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const [all, setAll] = useState<Offers>()
  const [found, setFound] = useState<Offers>()
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    call<Offers>('api/catalogue').then(setAll, (error) => setProblem(describe(error)))
  }, [])
  const wanted = typed.trim()
  useEffect(() => {
    setFound(undefined)
    if (wanted.length < shortestSearch) return
    const leaving = new AbortController()
    const timer = setTimeout(() => {
      call<Offers>(`api/catalogue?search=${encodeURIComponent(wanted)}`, { signal: leaving.signal }).then(setFound, (error) => {
        if (!leaving.signal.aborted) setProblem(describe(error))
      })
    }, quietMs)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [wanted])
  const take = (name: string) => {
    void pull(name)
    onClose()
  }
  const words = wanted.toLowerCase().split(/\s+/)
  const models = all?.models.filter(({ name, title }) => words.every((word) => `${name} ${title}`.toLowerCase().includes(word)))
  const repositories = found?.repositories ?? []
  return (
    <Dialog title={texts.add} isWide onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (wanted !== '') take(wanted)
        }}
      >
        <label class="labelled">
          <span>{texts.name}</span>
          <input
            class="field mono"
            name="name"
            required
            autocomplete="off"
            autofocus
            aria-describedby="name-hint"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <p id="name-hint" class="muted small">
          {texts.nameHint}
        </p>
        {isExact(wanted) && <Ahead key={wanted} name={wanted} quietMs={longQuietMs} />}
        <div class="offers" role="status" aria-live="off">
          {problem !== undefined && <p class="bad small">{problem}</p>}
          {(models ?? []).length > 0 && (
            <OfferList title={texts.catalogue}>
              {models?.toSorted(byFit).map((model) => (
                <OfferRow key={model.name} offer={model} facts={modelFacts(model)} isMuted={!model.fits} onTake={take} />
              ))}
            </OfferList>
          )}
          {repositories.length > 0 && (
            <OfferList title={texts.onHub}>
              {repositories.map((repository) => (
                <OfferRow
                  key={repository.name}
                  offer={repository}
                  facts={texts.downloads(formatCount(repository.downloads))}
                  isMuted={false}
                  onTake={take}
                />
              ))}
            </OfferList>
          )}
          {found?.problem !== undefined && <p class="muted small">{texts.notSearched(found.problem)}</p>}
        </div>
        <div class="dialog-end">
          <Button kind="primary">{texts.pull}</Button>
        </div>
      </form>
    </Dialog>
  )
}

/** A name that denotes one model, rather than a part of names. */
function isExact(name: string): boolean {
  return /^\S+[/:]\S+$/.test(name)
}

/** The proposed one first, then those that fit, in the catalogue's order. */
function byFit(one: Model, other: Model): number {
  return Number(other.proposed) - Number(one.proposed) || Number(other.fits) - Number(one.fits)
}

function modelFacts({ title, size_bytes: size, max_context_length: trained, fits, proposed }: Model): string {
  const fit = proposed ? texts.proposed : fits ? texts.fits : texts.fitsNot
  return `${title} · ${formatBytes(size)} · ${texts.trained(formatCount(trained))} · ${fit}`
}

function OfferList({ title, children }: { readonly title: string; readonly children: preact.ComponentChildren }) {
  return (
    <section>
      <h3>{title}</h3>
      <ul>{children}</ul>
    </section>
  )
}

type OfferRowProps = {
  readonly offer: Offer
  readonly facts: string
  readonly isMuted: boolean
  readonly onTake: (name: string) => void
}

function OfferRow({ offer: { name, abilities }, facts, isMuted, onTake }: OfferRowProps) {
  const [isChecked, setChecked] = useState(false)
  return (
    <li class="offer">
      <span class="offer-text">
        <span class="mono">{name}</span>
        <span class={isMuted ? 'small muted' : 'small'}>
          {[facts, ...abilities.map((ability) => texts.offered[ability])].join(' · ')}
        </span>
        {isChecked && <Ahead name={name} />}
      </span>
      {!isChecked && (
        <Button of={name} onClick={() => setChecked(true)}>
          {texts.ahead.check}
        </Button>
      )}
      <Button of={name} onClick={() => onTake(name)}>
        {texts.fetch}
      </Button>
    </li>
  )
}
