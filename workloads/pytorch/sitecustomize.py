"""Python imports the first sitecustomize on its path when it starts. This one waits for torch and then hands over to
the one that would have been imported without it."""
import importlib.machinery
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class TorchFinder:
    """Has the adapter installed once torch has been executed. It stays until then: programs look for torch
    (importlib.util.find_spec) long before they import it."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                self.follow(spec)
                return spec
        return None

    def follow(self, spec):
        loader = spec.loader
        try:
            execute = loader.exec_module

            def exec_module(module):
                vars(loader).pop("exec_module", None)  # what the program sees of it is as it was
                execute(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    install_adapter(module)

            loader.exec_module = exec_module
        except Exception as fault:  # a loader of another kind: the program runs as without us, unseen
            say(f"torch is not followed: {fault!r}")


def install_adapter(torch):
    """The program may have changed its path since, and must not find us by names of its own."""
    is_on_path = HERE in sys.path
    try:
        if not is_on_path:
            sys.path.insert(0, HERE)
        import profgate_pytorch
        profgate_pytorch.install(torch)
    except Exception as fault:
        say(f"the program runs without the PyTorch adapter: {fault!r}")
    finally:
        if not is_on_path and HERE in sys.path:
            sys.path.remove(HERE)


def say(words):
    try:
        print(f"profgate: {words}", file=sys.stderr)
    except Exception:
        pass  # a closed stderr is the program's own affair


def run_next_sitecustomize():
    """The user's or the system's own. Its faults are Python's to report, as ever."""
    others = [path for path in sys.path if os.path.abspath(path) != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if "PROFGATE_PYTORCH_LIBRARY" in os.environ:
    sys.meta_path.insert(0, TorchFinder())
run_next_sitecustomize()
